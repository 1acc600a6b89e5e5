"""Which process of the tests gets which group of them."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from xdist.scheduler import LoadGroupScheduling


class Scheduling(LoadGroupScheduling):
    """Groups are taken in the order of `tiers.in_order`; those of pytest-xdist come by their size,
    so that all that share a site or a browser would start theirs at once.

    It also looks through all that a process has ever done after each test, which takes half a
    minute for fourteen thousand: here a group that is done is forgotten."""

    def schedule(self) -> None:
        self.config.option.loadscopereorder = False
        super().schedule()

    def mark_test_complete(self, node: Any, item_index: int, duration: float = 0) -> None:
        name = self.registered_collections[node][item_index]
        groups = self.assigned_work[node]
        group = groups[self._split_scope(name)]
        group[name] = True
        if all(group.values()):
            del groups[self._split_scope(name)]
        self._reschedule(node)

    def _assign_work_unit(self, node: Any) -> None:
        scope, group = self.workqueue.popitem(last=False)
        self.assigned_work.setdefault(node, {})[scope] = group
        node.send_runtest_some(
            [self._positions[each] for each, is_done in group.items() if not is_done]
        )

    @cached_property
    def _positions(self) -> dict[str, int]:
        """All processes have found the same tests."""
        assert self.collection is not None
        return {name: position for position, name in enumerate(self.collection)}
