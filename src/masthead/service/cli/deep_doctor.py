"""The deep check of `masthead doctor --deep`, with its progress on a terminal and in a file."""

from __future__ import annotations

import click

from masthead.service.cli.arguments import counted
from masthead.service.cli.installation_checks import Check, CheckState, not_checked
from masthead.service.cli.invocation import Invocation
from masthead.service.cli.opened_installation import opened
from masthead.service.cli.progress import progress as shown_progress
from masthead.service.deep_check.faults import Look
from masthead.service.deep_check.progress_file import Progress, ProgressFile, Reported
from masthead.service.deep_check.run import CHECKS, DeepCheck, find_sites
from masthead.storage.snapshot import open_snapshots

REQUIRES = ("settings", "root secret", "database", "storage")


async def run_deep_checks(
    invocation: Invocation, done: list[Check], *, tenant: str, repairs: bool, resumes: bool
) -> tuple[list[Check], list[Reported]]:
    if unmet := not_checked("deep check", done, REQUIRES):
        return [unmet], []
    found = await _run(invocation, tenant=tenant, repairs=repairs, resumes=resumes)
    return [_check_of(found, name, steps) for name, steps in CHECKS.items()], found.faults


async def _run(invocation: Invocation, *, tenant: str, repairs: bool, resumes: bool) -> Progress:
    async with (
        opened(invocation) as parts,
        open_snapshots(parts.settings.database_url) as snapshots,
    ):
        look = Look(parts, snapshots)
        file = ProgressFile(parts.settings.data_dir)
        progress = _resumed(file, tenant, repairs) if resumes else None
        progress = progress or Progress(repairs=repairs, of_tenant=tenant)
        totals: dict[str, int | None] = {"sites": len(await find_sites(look, tenant))}
        totals |= dict.fromkeys(CHECKS.values())
        with shown_progress(totals) as advance:
            check = DeepCheck(look, progress, repairs, advance, file.save)
            try:
                return await check.run(tenant)
            finally:
                if not progress.is_complete:
                    file.write(progress)


def _resumed(file: ProgressFile, tenant: str, repairs: bool) -> Progress | None:
    found = file.read()
    if found and (found.of_tenant, found.repairs) != (tenant, repairs):
        raise click.UsageError(
            "The check that was stopped had other options: name these, or leave --resume out"
        )
    return found


def _check_of(progress: Progress, name: str, steps: str) -> Check:
    found, repaired = progress.found.get(name, 0), progress.repaired.get(name, 0)
    detail = f"{progress.checked.get(steps, 0):,} checked"
    if found:
        detail += f", {counted(found, 'fault')}"
    if repaired:
        detail += f", {repaired:,} repaired"
    if repaired == found:
        return Check(name, CheckState.OK, detail)
    left = [each for each in progress.faults if each.check == name and not each.repaired]
    if any(each.can_repair for each in left):
        detail += "; run with --repair"
    return Check(name, CheckState.FAIL, detail)
