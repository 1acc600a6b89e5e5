"""The type of a record whose fields are known: a view names them by their types."""

from __future__ import annotations

from typing import Any, Generic, TypeVar, overload

from masthead.engine.records.collection import Record

Text = TypeVar("Text", bound=str)
Flag = TypeVar("Flag", bound=str)
Number = TypeVar("Number", bound=str)
List = TypeVar("List", bound=str)
Other = TypeVar("Other", bound=str)


# Narrower than a dict on purpose: a name that is no field is refused.
class TypedRecord(Record, Generic[Text, Flag, Number, List, Other]):
    """Only for the type checker. At run time every record is a dict."""

    @overload  # type: ignore[override, no-overload-impl]
    def __getitem__(self, name: Text, /) -> str: ...
    @overload
    def __getitem__(self, name: Flag, /) -> bool: ...
    @overload
    def __getitem__(self, name: Number, /) -> int: ...
    @overload
    def __getitem__(self, name: List, /) -> list[str]: ...
    @overload
    def __getitem__(self, name: Other, /) -> Any: ...
    def get(  # type: ignore[override]
        self, name: Text | Flag | Number | List | Other, default: Any = None, /
    ) -> Any: ...
