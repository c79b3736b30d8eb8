"""Metric math: the part of it that dashboards of consumers need. Pure.

Source: "Using math expressions with CloudWatch metrics", CloudWatch User Guide. What is not among
the functions below is not drawn, and the page says so.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from shardlane_lab.dashboard.series import NotDrawnError
from shardlane_lab.dashboard.statistic import Points

Value = float | Points | list[Points]
"""A number, a series, or an array of series."""

_OPERATORS: Mapping[type[ast.AST], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
    ast.Gt: lambda left, right: float(left > right),
    ast.GtE: lambda left, right: float(left >= right),
    ast.Lt: lambda left, right: float(left < right),
    ast.LtE: lambda left, right: float(left <= right),
    ast.Eq: lambda left, right: float(left == right),
    ast.NotEq: lambda left, right: float(left != right),
}

_ACROSS: Mapping[str, Callable[[Sequence[float]], float]] = {
    "SUM": sum,
    "AVG": lambda values: sum(values) / len(values),
    "MIN": min,
    "MAX": max,
}
"""Of an array: period by period over its series; of one series: a number."""

_EACH: Mapping[str, Callable[[float], float]] = {
    "ABS": abs,
    "CEIL": lambda value: float(-(-value // 1)),
    "FLOOR": lambda value: float(value // 1),
}


def evaluate(text: str, by_id: Mapping[str, Points], times: Sequence[int]) -> Points:
    """``by_id`` are the series of the widget; ``times`` the starts of all periods of the window.

    Raises ``NotDrawnError`` naming what is not understood.
    """
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except SyntaxError:
        raise NotDrawnError(f"the expression {text}") from None
    value = _Evaluation(by_id, times).of(tree.body)
    if isinstance(value, list):
        raise NotDrawnError(f"the array of series {text}")
    return dict.fromkeys(times, value) if isinstance(value, float) else value


class _Evaluation:
    def __init__(self, by_id: Mapping[str, Points], times: Sequence[int]) -> None:
        self._by_id = by_id
        self._times = times

    def of(self, node: ast.AST) -> Value:
        match node:
            case ast.Constant(value=int() | float() as number):
                return float(number)
            case ast.Name(id=name):
                return self._series(name)
            case ast.List(elts=items):
                return [self._one(item) for item in items]
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return _combined(operator.sub, 0.0, self._plain(operand))
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
                return _combined(_OPERATORS[type(op)], self._plain(left), self._plain(right))
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _OPERATORS:
                return _combined(_OPERATORS[type(op)], self._plain(left), self._plain(right))
            case ast.Call(func=ast.Name(id=name), args=arguments):
                return self._call(name, arguments)
        raise NotDrawnError(f"the expression {ast.unparse(node)}")

    def _series(self, name: str) -> Points:
        if name not in self._by_id:
            raise NotDrawnError(f"an expression over {name}, which its widget does not have")
        return self._by_id[name]

    def _one(self, node: ast.AST) -> Points:
        value = self.of(node)
        if isinstance(value, Mapping):
            return value
        raise NotDrawnError(f"{ast.unparse(node)} where a series is expected")

    def _plain(self, node: ast.AST) -> float | Points:
        value = self.of(node)
        if isinstance(value, list):
            raise NotDrawnError(f"arithmetic on the array {ast.unparse(node)}")
        return value

    def _call(self, name: str, arguments: Sequence[ast.AST]) -> Value:
        if name == "METRICS":
            return self._metrics(arguments)
        if name == "FILL" and len(arguments) == 2:
            return self._filled(self._one(arguments[0]), arguments[1])
        if name == "IF" and len(arguments) == 3:
            return self._chosen(arguments)
        if name in _ACROSS and len(arguments) == 1:
            return _across(_ACROSS[name], self.of(arguments[0]))
        if name in _EACH and len(arguments) == 1:
            change = _EACH[name]
            return {time: change(value) for time, value in self._one(arguments[0]).items()}
        raise NotDrawnError(f"the function {name} of metric math")

    def _metrics(self, arguments: Sequence[ast.AST]) -> list[Points]:
        match arguments:
            case []:
                return list(self._by_id.values())
            case [ast.Constant(value=str() as part)]:
                return [points for name, points in self._by_id.items() if part in name]
        raise NotDrawnError("METRICS with something else than a part of ids")

    def _filled(self, points: Points, how: ast.AST) -> Points:
        if isinstance(how, ast.Name) and how.id == "REPEAT":
            return self._repeated(points)
        number = self.of(how)
        if not isinstance(number, float):
            raise NotDrawnError(f"FILL with {ast.unparse(how)}")
        return {time: points.get(time, number) for time in self._times}

    def _repeated(self, points: Points) -> Points:
        filled: dict[int, float] = {}
        for time in self._times:
            if time in points:
                filled[time] = points[time]
            elif filled:
                filled[time] = filled[next(reversed(filled))]
        return filled

    def _chosen(self, arguments: Sequence[ast.AST]) -> Points:
        condition, then, otherwise = (self._plain(each) for each in arguments)
        chosen: dict[int, float] = {}
        for time in self._times:
            holds = _at(condition, time)
            if holds is None:
                continue
            value = _at(then if holds else otherwise, time)
            if value is not None:
                chosen[time] = value
        return chosen


def _at(value: float | Points, time: int) -> float | None:
    return value if isinstance(value, float) else value.get(time)


def _combined(
    combine: Callable[[float, float], float], left: float | Points, right: float | Points
) -> float | Points:
    """Where both have data; a division by zero has none."""
    if isinstance(left, float) and isinstance(right, float):
        return combine(left, right)
    times = left if isinstance(left, Mapping) else right
    assert isinstance(times, Mapping)
    found: dict[int, float] = {}
    for time in times:
        pair: tuple[Any, Any] = (_at(left, time), _at(right, time))
        if None not in pair:
            try:
                found[time] = combine(*pair)
            except ZeroDivisionError:
                continue
    return found


def _across(gather: Callable[[Sequence[float]], float], value: Value) -> float | Points:
    if isinstance(value, list):
        times = sorted({time for points in value for time in points})
        return {
            time: gather([points[time] for points in value if time in points]) for time in times
        }
    if isinstance(value, float):
        return value
    return float(gather(list(value.values()))) if value else {}
