"""`masthead doctor`: checks everything that an installation depends on and says what to fix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
from msgspec.structs import asdict

from masthead.service.cli.installation_checks import CheckState, run_checks
from masthead.service.cli.invocation import Invocation, Output, command

if TYPE_CHECKING:
    from masthead.service.deep_check.progress_file import Reported


@command("doctor")
@click.option(
    "--deep",
    is_flag=True,
    help="Also compares what is derived with what it is derived from: see the docs, Operations.",
)
@click.option("--repair", is_flag=True, help="With --deep: makes again what can be derived again.")
@click.option("--resume", is_flag=True, help="With --deep: goes on where the last one was stopped.")
@click.option("--tenant", "--tenant-id", "tenant", metavar="SLUG", help="With --deep: one site.")
async def doctor(
    invocation: Invocation, deep: bool, repair: bool, resume: bool, *, tenant: str | None
) -> Output:
    """Checks configuration, database, storage, mail and clock, and says what to fix."""
    if not deep and (repair or resume or tenant):
        raise click.UsageError("--repair, --resume and --tenant go with --deep")
    checks = await run_checks(invocation)
    faults: list[Reported] = []
    if deep:
        # Imported here: the plain doctor is quick.
        from masthead.service.cli.deep_doctor import run_deep_checks

        more, faults = await run_deep_checks(
            invocation, checks, tenant=tenant or "", repairs=repair, resumes=resume
        )
        checks += more
    is_ok = all(each.state is not CheckState.FAIL for each in checks)
    data: dict[str, Any] = {"ok": is_ok, "checks": [asdict(each) for each in checks]}
    lines = [f"{each.state:<5}{each.name}: {each.detail}" for each in checks]
    if deep:
        data["faults"] = [asdict(each) for each in faults]
        lines += [_fault_line(each) for each in faults]
    return Output(data, "\n".join(lines), exit_code=0 if is_ok else 1)


def _fault_line(fault: Reported) -> str:
    where = " ".join(filter(None, (fault.site, fault.collection, fault.id)))
    end = " (repaired)" if fault.repaired else ""
    return f"{fault.check}: {where}: {fault.detail}{end}"
