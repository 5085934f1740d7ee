"""Calls that clients of Kea by others make, each with the shape of what comes back, a line each.

Arguments: the client's name, URL of an HTTP control socket, user, password, path of a unix control socket,
family (4 or 6). What differs from run to run (times, process ids, values) is no part of a shape.
"""

import enum
import inspect
import sys
import types


def shape(value):
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {shape(inner)}" for key, inner in sorted(value.items())) + "}"
    if isinstance(value, (list, tuple, set, frozenset)):
        return "[" + " ".join(sorted({shape(item) for item in value})) + "]"
    if isinstance(value, enum.Enum):
        return str(value)
    for method in ("model_dump", "dict"):
        if callable(getattr(value, method, None)):
            return type(value).__name__ + shape(getattr(value, method)())
    if hasattr(value, "__dataclass_fields__"):
        fields = {name: getattr(value, name) for name in value.__dataclass_fields__}
        return type(value).__name__ + shape(fields)
    return type(value).__name__


def report(name, call):
    """Prints what comes back, or the class of the exception."""
    try:
        print(f"{name}: {shape(call())}")
    except Exception as error:
        print(f"{name}: raises {type(error).__name__}")


def values(family):
    """Values of parameters, by their names."""
    four = family == 4
    return {
        "subnet_id": 1,
        "subnets": [1],
        "ip_address": "10.0.0.5" if four else "2001:db8:1::5",
        "hostname": "h",
        "identifier_type": "hw-address" if four else "duid",
        "identifier": "01:02:03:04:05:06" if four else "01:02:03:04:05",
        "hw_address": "01:02:03:04:05:06",
        "client_id": "01:02",
        "duid": "01:02:03:04:05",
        "iaid": 7,
        "limit": 10,
        "search_from": "start",
        "number": 1,
        "filepath": "x.cache",
        "filename": "written.conf",
        "name": "n",
        "max_period": 20,
        "prefix": "10.0.0.0/24" if four else "2001:db8:1::/64",
        "server_tag": "all",
        "server_tags": ["all"],
        "parameter": "valid-lifetime",
        "option_code": 3,
        "option_space": "dhcp4" if four else "dhcp6",
        "config": {},
        "cancel": True,
    }


def every_method(daemon, family):
    """Calls each method of `daemon` whose parameters are known; what changes the server comes last."""
    table = values(family)

    def order(name):
        changes = ("_del", "_wipe", "_add", "remove", "reload", "_disable")
        return (any(change in name for change in changes), name)

    methods = [name for name, _ in inspect.getmembers(daemon, inspect.ismethod)]
    for name in sorted(methods, key=order):
        if name.startswith("_") or name in ("shutdown", "config_set", "get_next_available_subnet_id"):
            continue
        arguments, is_known = {}, True
        for parameter in inspect.signature(getattr(daemon, name)).parameters.values():
            if parameter.kind is inspect.Parameter.VAR_KEYWORD:
                continue
            if parameter.name in table:
                arguments[parameter.name] = table[parameter.name]
            elif parameter.default is inspect.Parameter.empty:
                is_known = False
        if name == "class_get":
            arguments["name"] = "a"
        if name == "statistic_get":
            arguments["name"] = f"pkt{family}-received"
        if is_known:
            report(name, lambda: getattr(daemon, name)(**arguments))


def pyisckea(url, user, password, family):
    from httpx import BasicAuth, Client
    from pyisckea import Kea

    # The client's own limit, 5 s, is too short for a busy machine.
    kea = Kea(url, auth=BasicAuth(user, password), client=Client(timeout=60))
    every_method(getattr(kea, f"dhcp{family}"), family)


def pykeadhcp(url, user, password, family):
    from pykeadhcp import Kea

    host, port = url.rsplit(":", 1)
    kea = Kea(host, port, use_basic_auth=True, username=user, password=password)
    every_method(getattr(kea, f"dhcp{family}"), family)


def exporter(path):
    from kea_exporter.exporter import Exporter
    from prometheus_client import REGISTRY

    kea = Exporter([path])
    kea.update()
    for family in REGISTRY.collect():
        if family.name.startswith("kea_"):
            for sample in family.samples:
                print(f"{sample.name} {sorted(sample.labels.items())}")


def netbox(url, user, password, family):
    # The package itself needs NetBox; its client does not.
    import importlib.util

    package = types.ModuleType("netbox_kea")
    package.__path__ = importlib.util.find_spec("netbox_kea").submodule_search_locations
    sys.modules["netbox_kea"] = package
    from netbox_kea.kea import KeaClient

    class Guard:
        def refuse(self, operation):
            pass

    kea = KeaClient(
        url, user, password, send_service=False, timeout=60, max_unpaged_leases=1000,
        write_guard=Guard(), on_write=lambda family, *, configuration: None,
    )
    calls = {
        "daemon_status": lambda: kea.daemon_status(family),
        "daemon_version": lambda: kea.daemon_version(family),
        "subnet_utilization": lambda: kea.subnet_utilization(family),
        "subnet_get": lambda: kea.subnet_get(family, 1),
        "subnet_definition": lambda: kea.subnet_definition(family, 1),
        "shared_network_exists": lambda: kea.shared_network_exists(family, "n"),
        "no network": lambda: kea.shared_network_exists(family, "m"),
        "lease_get_page": lambda: kea.lease_get_page(family, limit=1, server_id=1),
        "lease_get_all": lambda: kea.lease_get_all(family, server_id=1),
        "network_add": lambda: kea.network_add(family, "m"),
        "network_add again": lambda: kea.network_add(family, "m"),
        "network_subnet_add": lambda: kea.network_subnet_add(family, "m", 1),
        "network_subnet_del": lambda: kea.network_subnet_del(family, "m", 1),
        "network_del": lambda: kea.network_del(family, "m"),
        "dhcp_disable": lambda: kea.dhcp_disable(family, 20),
        "dhcp_enable": lambda: kea.dhcp_enable(family),
        "config_test": lambda: kea.config_test(kea.config_candidate(family)),
        "config_set": lambda: kea.config_set(kea.config_candidate(family)),
        "persist": lambda: kea.persist(family),
        "lease_wipe": lambda: kea.lease_wipe(family, 1),
        "subnet_del": lambda: kea.subnet_del(family, 1),
        "subnet_del again": lambda: kea.subnet_del(family, 1),
    }
    for name, call in calls.items():
        report(name, call)


def main():
    client, url, user, password, path, family = sys.argv[1:]
    family = int(family)
    if client == "kea-exporter":
        exporter(path)
    else:
        {"pyisckea": pyisckea, "pykeadhcp": pykeadhcp, "netbox-kea-ng": netbox}[client](
            url, user, password, family
        )


main()
