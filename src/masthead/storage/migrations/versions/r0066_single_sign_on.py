"""OpenID Connect providers of a site, and which of their people are which of its accounts. Not
rolling: an older process that deletes an account does not know its links."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from masthead.storage import dialects as types
from masthead.storage.migrations.operations import share

revision = "0066"
down_revision = "0065"


def upgrade() -> None:
    op.create_table(
        "sign_in_providers",
        sa.Column("tenant_id", types.Text(), nullable=False),
        sa.Column("id", types.Text(), nullable=False),
        sa.Column("name", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("slug", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("issuer", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("client_id", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("client_secret", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("extra_scopes", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("used_by", types.Text(), server_default=sa.text("'staff'"), nullable=False),
        sa.Column("domains", types.Json(), server_default=sa.text("'[]'"), nullable=False),
        sa.Column(
            "creates_accounts", types.Flag(), server_default=sa.text("false"), nullable=False
        ),
        sa.Column("role_claim", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("roles", types.Json(), server_default=sa.text("'[]'"), nullable=False),
        sa.Column("default_role", types.Text(), server_default=sa.text("'none'"), nullable=False),
        sa.Column(
            "second_step", types.Text(), server_default=sa.text("'masthead'"), nullable=False
        ),
        sa.Column("enabled", types.Flag(), server_default=sa.text("false"), nullable=False),
        sa.Column("created", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("updated", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("version", types.Integer(), server_default=sa.text("0"), nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant_id"], ["tenants.id"], name=op.f("fk_sign_in_providers__tenant_id")
        ),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("pk_sign_in_providers")),
    )
    op.create_index(op.f("ix_sign_in_providers__id"), "sign_in_providers", ["id"], unique=False)
    op.create_index(
        op.f("ix_sign_in_providers__tenant_id_created_id"),
        "sign_in_providers",
        ["tenant_id", "created", "id"],
        unique=False,
    )
    op.create_index(
        op.f("ix_sign_in_providers__tenant_id_slug"),
        "sign_in_providers",
        ["tenant_id", "slug"],
        unique=True,
    )
    op.create_table(
        "sign_in_links",
        sa.Column("tenant_id", types.Text(), nullable=False),
        sa.Column("id", types.Text(), nullable=False),
        sa.Column("provider_id", types.Text(), nullable=False),
        sa.Column("used_by", types.Text(), server_default=sa.text("'staff'"), nullable=False),
        sa.Column("subject", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("staff_id", types.Text(), nullable=True),
        sa.Column("member_id", types.Text(), nullable=True),
        sa.Column("created", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("updated", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("version", types.Integer(), server_default=sa.text("0"), nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant_id", "member_id"],
            ["blog_members.tenant_id", "blog_members.id"],
            name=op.f("fk_sign_in_links__tenant_id_member_id"),
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id", "provider_id"],
            ["sign_in_providers.tenant_id", "sign_in_providers.id"],
            name=op.f("fk_sign_in_links__tenant_id_provider_id"),
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id", "staff_id"],
            ["_superusers.tenant_id", "_superusers.id"],
            name=op.f("fk_sign_in_links__tenant_id_staff_id"),
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id"], ["tenants.id"], name=op.f("fk_sign_in_links__tenant_id")
        ),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("pk_sign_in_links")),
    )
    op.create_index(op.f("ix_sign_in_links__id"), "sign_in_links", ["id"], unique=False)
    op.create_index(
        op.f("ix_sign_in_links__tenant_id_created_id"),
        "sign_in_links",
        ["tenant_id", "created", "id"],
        unique=False,
    )
    op.create_index(
        op.f("ix_sign_in_links__tenant_id_member_id"),
        "sign_in_links",
        ["tenant_id", "member_id"],
        unique=False,
    )
    op.create_index(
        op.f("ix_sign_in_links__tenant_id_provider_id_used_by_subject"),
        "sign_in_links",
        ["tenant_id", "provider_id", "used_by", "subject"],
        unique=True,
    )
    op.create_index(
        op.f("ix_sign_in_links__tenant_id_staff_id"),
        "sign_in_links",
        ["tenant_id", "staff_id"],
        unique=False,
    )
    share("sign_in_providers", "tenant_id")
    share("sign_in_links", "tenant_id")
