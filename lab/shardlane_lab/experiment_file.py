"""Finds and reads experiment files: one experiment, or several variants of it."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, TypeAdapter, ValidationError

from shardlane_lab.errors import ExperimentError
from shardlane_lab.experiment import Experiment, Name

MOST_VARIANTS = 50
_name = TypeAdapter(Name)


@dataclass(frozen=True, slots=True)
class Variant:
    """One run of an experiment file."""

    name: str
    """Empty for a file without variants."""
    experiment: Experiment


@dataclass(frozen=True, slots=True)
class Study:
    """What an experiment file asks for: runs that are made one after the other."""

    name: str
    title: str
    variants: tuple[Variant, ...]

    def shortened(self, seconds: float) -> Study:
        """Every variant in another time, see ``Experiment.shortened``."""
        return Study(
            self.name,
            self.title,
            tuple(Variant(each.name, each.experiment.shortened(seconds)) for each in self.variants),
        )


def shipped() -> dict[str, Path]:
    """The experiments that come with the lab, by name."""
    folder = Path(str(resources.files("shardlane_lab") / "experiments"))
    return {path.stem: path for path in sorted(folder.glob("*.toml"))}


def find(name_or_path: str) -> Path:
    """The file that a person named: a path, or the name of a shipped experiment, also written
    ``experiments/NAME.toml``. Raises ``ExperimentError`` listing the names otherwise."""
    path = Path(name_or_path)
    if path.is_file():
        return path
    known = shipped()
    is_name = path.parent in (Path(), Path("experiments")) and path.suffix in ("", ".toml")
    if is_name and path.stem in known:
        return known[path.stem]
    raise ExperimentError(
        f"no experiment {name_or_path!r}: neither a file nor one of {', '.join(known)}"
    )


def load(path: Path) -> Experiment:
    """The experiment of a file without its variants. Raises ``ExperimentError`` with every
    problem."""
    values = _read(path)
    values.pop("variants", None)
    return _checked(path, values, "")


def load_study(path: Path) -> Study:
    """All that a file asks for. A variant is a table of what differs: its tables go into the
    experiment's own, any other value, lists too, takes the place of the experiment's.

    Raises ``ExperimentError`` with every problem.
    """
    values = _read(path)
    given = values.pop("variants", [])
    whole = _checked(path, values, "")
    if not given:
        return Study(whole.name, whole.title, (Variant("", whole),))
    _check_variants(path, given)
    variants = tuple(_variant(path, values, each) for each in given)
    return Study(whole.name, whole.title, variants)


def _variant(path: Path, values: Mapping[str, Any], given: Mapping[str, Any]) -> Variant:
    name = str(given["name"])
    changed = {key: value for key, value in given.items() if key not in ("name", "title")}
    merged = _merged(values, changed) | {
        "name": f"{values['name']}-{name}",
        "title": f"{values['title']}: {given.get('title', name)}",
    }
    return Variant(name, _checked(path, merged, f"variants.{name}."))


def _check_variants(path: Path, given: Any) -> None:
    if not isinstance(given, list) or not all(isinstance(each, dict) for each in given):
        raise ExperimentError(f"{path}:\n  variants: allowed are tables, [[variants]] in TOML")
    if len(given) > MOST_VARIANTS:
        raise ExperimentError(
            f"{path}:\n  variants: allowed are up to {MOST_VARIANTS}; found {len(given)}"
        )
    seen: set[str] = set()
    for number, each in enumerate(given):
        name = each.get("name")
        try:
            _name.validate_python(name)
        except ValidationError as error:
            said = error.errors()[0]["msg"]
            raise ExperimentError(
                f"{path}:\n  variants.{number}.name: {said}; found {name!r}"
            ) from error
        if name in seen:
            raise ExperimentError(f"{path}:\n  variants.{number}.name: {name!r} stands there twice")
        seen.add(name)


def _merged(values: Mapping[str, Any], changed: Mapping[str, Any]) -> dict[str, Any]:
    result = dict(values)
    for key, value in changed.items():
        below = result.get(key)
        if isinstance(value, dict) and isinstance(below, dict):
            result[key] = _merged(below, value)
        else:
            result[key] = value
    return result


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise ExperimentError(f"{path}: not TOML: {error}") from error
    except UnicodeDecodeError as error:
        raise ExperimentError(f"{path}: not UTF-8 text: {error}") from error


def _checked(path: Path, values: Mapping[str, Any], where: str) -> Experiment:
    try:
        return Experiment.model_validate(dict(values))
    except ValidationError as error:
        raise ExperimentError(f"{path}:\n" + "\n".join(_problems(error, where))) from error


def _problems(error: ValidationError, where: str) -> Iterator[str]:
    for each in error.errors():
        if each["type"] == "too_short" and each["input"]:
            continue  # said of a list whose items have problems of their own, which are listed
        field = where + ".".join(str(part) for part in each["loc"])
        if each["type"] == "value_error":  # one of our own: it names what was found
            said = str(each["ctx"]["error"])
            yield f"  {field}: {said}" if field else f"  {said}"
            continue
        found = "" if each["type"] == "missing" else f"; found {each['input']!r}"
        allowed = ""
        if each["type"] == "extra_forbidden":
            allowed = f"; allowed: {', '.join(_fields_at(each['loc'][:-1]))}"
        yield f"  {field}: {each['msg']}{allowed}{found}"


def _fields_at(location: tuple[int | str, ...]) -> list[str]:
    """The fields of the table at a place in the file."""
    table: type[BaseModel] = Experiment
    for part in location:
        if isinstance(part, str):
            table = table_of(table, part) or table
    extra = ["variants"] if table is Experiment else []
    return [*table.model_fields, *extra]


def table_of(table: type[BaseModel], field: str) -> type[BaseModel] | None:
    """The table that a field holds, one or a list of them; None for a plain value."""
    annotation = table.model_fields[field].annotation
    for each in (annotation, *get_args(annotation)):
        if isinstance(each, type) and issubclass(each, BaseModel):
            return each
    return None
