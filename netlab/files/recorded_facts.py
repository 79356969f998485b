"""Facts of a host, and what is stored of them: provenance of a run, conditions of a block.

Each TypedDict is what code reads, and what content is checked against, once, where it comes from a
host or a file. A checked object has every key but those that are `NotRequired`. A fact is None if
the host does not state it, or if an older netlab did not read it: "since 6" means that records of
schemas before 6 lack the key, and that some of 6 may. Keys that have no type here are dropped, but
for those of conditions; code that lists all that a record has reads its JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NotRequired, TypedDict, get_args, get_type_hints

from pydantic_core import SchemaValidator, ValidationError
from pydantic_core import core_schema as cs

from netlab.errors import BadInput
from netlab.files.answer_fields import Fits, Schema, fields_of, object_schema, schema_of
from netlab.files.bounded_json import parse_json

_TEXT, _INTEGER = cs.str_schema(strict=True), cs.int_schema(strict=True)
_SCALAR = cs.nullable_schema(cs.union_schema([_TEXT, _INTEGER]))


def _or_none(schema: Schema) -> Fits:
    """None where the key is absent."""
    return Fits(cs.with_default_schema(cs.nullable_schema(schema), default=None))


def _mapping(values: Schema) -> Schema:
    return cs.dict_schema(_TEXT, values, strict=True)


def _or_empty(values: Schema) -> Fits:
    """An empty object where the key is absent."""
    return Fits(cs.with_default_schema(_mapping(values), default_factory=dict))


Text = Annotated[str | None, _or_none(_TEXT)]
Printed = Annotated[str, Fits(cs.with_default_schema(_TEXT, default=""))]
Number = Annotated[int | None, _or_none(_INTEGER)]
Flag = Annotated[bool | None, _or_none(cs.bool_schema(strict=True))]
Versions = Annotated[dict[str, str | None], _or_empty(cs.nullable_schema(_TEXT))]
Settings = Annotated[dict[str, str], _or_empty(_TEXT)]
Labels = Annotated[
    list[str],
    Fits(cs.with_default_schema(cs.list_schema(_TEXT, strict=True), default_factory=list)),
]
_LIST_OF_OBJECTS = cs.list_schema(_mapping(cs.any_schema()), strict=True)
Layers = Annotated[list[dict[str, Any]], Fits(_LIST_OF_OBJECTS)]
"""Rows of :class:`netlab.hosts.stack.InterfaceStack`."""
Rate = Annotated[
    float | str | None,
    Fits(cs.nullable_schema(cs.union_schema([cs.float_schema(strict=True), _TEXT]))),
]


class StableFacts(TypedDict):
    """Facts that a result depends on, in the order in which they are listed."""

    kernel: Text
    machine: Text
    cpu_model: Text
    cpus: Number
    governor: Text
    nic_driver: Text
    nic_driver_version: Text
    nic_firmware: Text
    link_speed_Mbps: Number
    """Of one stream: None for veth, of a bond the rate of one slave."""
    pci_vendor: Text
    pci_device: Text
    bus_width: Number
    """Lanes of PCI Express."""
    bus_speed: Text
    """Of a lane, such as ``8.0 GT/s PCIe``."""
    bus_slot_speed: Text
    """Of a PCI or PCI-X slot, such as ``133 MHz PCI-X``. Since 6."""
    bus_pci_x_bits: Number
    """Width of a PCI or PCI-X card, bit. Since 6."""


class NamespaceFacts(TypedDict):
    """The network namespace of a login: two that are equal are one host."""

    boot_id: Text
    """Of the kernel: all containers and namespaces on it have the same. Since 6."""
    network_namespace: Text
    """Since 9."""


class HostFacts(StableFacts, NamespaceFacts):
    """Facts that a host states, of itself and of the interface that it was asked about."""

    hostname: Text
    os: Text
    memory_kB: Number
    smt: Text
    """``on`` or ``off``. Since 6."""
    iommu: Text
    """``on`` or ``off``. Since 6."""
    cpu_frequency: Text
    """``read in each run``, or ``unsupported`` with the reason. Since 5."""
    thermal_throttling: Text
    """``read in each run``, or ``unsupported`` with the reason. Since 5."""
    interface: Text
    """Name in the kernel; None if the host was asked about no interface."""
    interface_exists: Flag
    mtu_B: Number
    duplex: Text
    operstate: Text
    mac_address: Text
    bridge_ports: Text
    """Names of the ports of a bridge with their MTUs. Since 6."""
    numa_node: Number
    """Of the card. Since 6."""
    bus_address: Text
    bus_max_width: Number
    bus_max_speed: Text
    bus_max_payload_B: Number
    """Since 5."""
    bus_devices: Number
    """Devices on a PCI or PCI-X bus. Since 6."""
    layers: NotRequired[Layers]
    """Absent of a card that stands alone. Since 10."""


class EndFacts(HostFacts):
    """Facts of a host at an end of a path, with what the runs of a study find there."""

    generators: Versions
    """Version of each generator of the path's runs; None if it is not installed."""
    found: Settings
    """Settings found, by label: those that netlab or a tuning of the study records."""
    fixed: Labels
    """Labels of those that no tuning can change on the host. Since 9."""
    copy_MBps: NotRequired[Rate]
    """Copy rate of one core, or why it was not measured. Absent of one machine with both ends."""


TaskGroupKind = Literal["shared", "lab", "session"]
"""Meanings: :mod:`netlab.lab.task_group`."""
_TASK_GROUP = cs.literal_schema([*get_args(TaskGroupKind)])


class LabFacts(TypedDict):
    """The lab of a run; None and false of a run on other hosts."""

    emulated_with: Text
    """Emulator of the link; None of one that is not emulated."""
    task_group: Annotated[TaskGroupKind | None, _or_none(_TASK_GROUP)]
    """Since 3."""
    user_namespace: Annotated[
        bool, Fits(cs.with_default_schema(cs.bool_schema(strict=True), default=False))
    ]
    """True of the lab of a user without root. Since 5."""


class PathOutput(TypedDict):
    """Output of the checks of a path."""

    ping: Printed
    traceroute: Printed


class Provenance(LabFacts):
    """Column ``provenance`` of a run: what made it, and the hosts that it ran on."""

    netlab: Text
    """Version."""
    agent: Text
    """Digest of the sources of the C core."""
    rule: Annotated[int, Fits(cs.with_default_schema(_INTEGER, default=1))]
    """Rule of equal conditions; absent under the first one. Since 9."""
    hosts: Annotated[dict[str, EndFacts], _or_empty(schema_of(EndFacts))]
    """None of an imported run."""
    path_check: Annotated[PathOutput | None, _or_none(schema_of(PathOutput))]


class KnownConditions(TypedDict):
    """The part of a block's conditions that is known without asking a host."""

    schema: Annotated[int, Fits(_INTEGER)]
    """Of the results."""
    version: Annotated[str, Fits(_TEXT)]
    agent: Annotated[str, Fits(_TEXT)]
    """Digest of the sources of the C core."""
    rule: NotRequired[Annotated[int, Fits(_INTEGER)]]
    """Rule of equal conditions; absent under the first one. Since 9."""
    profiles: Annotated[dict[str, list[dict[str, Any]]], Fits(_mapping(_LIST_OF_OBJECTS))]
    """Host -> the settings of its tuning."""


class BlockConditions(KnownConditions):
    """Conditions of a block that its study does not fix, in ``conditions.json``. Since 8.

    The key of a run is a hash of them: a check fills in none that is absent, and drops none.
    """

    hosts: Annotated[dict[str, StableFacts], Fits(_mapping(_mapping(_SCALAR)))]
    emulated_with: Annotated[str | None, Fits(cs.nullable_schema(_TEXT))]
    task_group: Annotated[TaskGroupKind | None, Fits(cs.nullable_schema(_TASK_GROUP))]
    user_namespace: NotRequired[Annotated[bool, Fits(cs.bool_schema(strict=True))]]
    """True, or absent."""
    found: Annotated[dict[str, dict[str, str | int | None]], Fits(_mapping(_mapping(_SCALAR)))]
    """Host -> the settings found there that the tuning leaves, and ``mtu_B``."""
    generators: Annotated[
        dict[str, dict[str, str | None]], Fits(_mapping(_mapping(cs.nullable_schema(_TEXT))))
    ]
    """Generator -> host -> its version."""


_KINDS = get_type_hints(HostFacts)
NUMBERS = tuple(name for name, kind in _KINDS.items() if int in get_args(kind))
TEXTS = tuple(name for name, kind in _KINDS.items() if str in get_args(kind))
STABLE = tuple(StableFacts.__annotations__)
"""Names of the facts that a host states as numbers, as texts, and of the stable ones."""

_OF_HOST, _OF_END, _PROVENANCE = (
    SchemaValidator(schema_of(kind)) for kind in (HostFacts, EndFacts, Provenance)
)


BLOCK_CONDITIONS = _mapping(object_schema(*fields_of(BlockConditions), others=cs.any_schema()))
"""Schema of :class:`BlockConditions` by block."""


def host_facts(content: Mapping[str, object]) -> HostFacts:
    """Facts as a host states them, checked."""
    return _checked(_OF_HOST, content, "facts of a host")


def end_facts(content: Mapping[str, object]) -> EndFacts:
    """Facts of an end of a path, checked."""
    return _checked(_OF_END, content, "facts of a host")


def provenance_of(text: str) -> Provenance:
    """Content of a value of the column ``provenance``, checked; that of an empty one is empty."""
    return _checked(_PROVENANCE, parse_json(text or "{}", "provenance"), "provenance")


def _checked(validator: SchemaValidator, content: object, where: str) -> Any:
    try:
        return validator.validate_python(content)
    except ValidationError as fault:
        first = fault.errors(include_url=False, include_context=False)[0]
        key = ".".join(map(str, first["loc"]))
        message, value = first["msg"], first["input"]
        raise BadInput(message, where=where, key=key, value=value, code="E-FILES-100") from None
