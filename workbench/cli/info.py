"""`workbench tokens`, `policies` and `models`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from msgspec import structs, to_builtins

from workbench.cli.options import options_of
from workbench.config.errors import WrongCall
from workbench.config.text import percent, print_json, printable, table
from workbench.context.load import POLICIES, describe_policy, load_policy, preset_names, user_policies
from workbench.context.setup import corrected_info
from workbench.models.catalogue import ModelInfo, price_texts
from workbench.models.local.offers import look_around, offers_of
from workbench.sources.services import Services
from workbench.traces.reading import read_transcript_text


def run_tokens(options: argparse.Namespace) -> int:
    """Count the tokens of a text."""
    name, text = read_transcript_text(options.file)
    with Services() as services:
        setup = services.set_up(options_of(options))
        count = setup.counter.count(text)
        setup.counter.flush()
    found = {
        "model": setup.model or None,
        "tokenizer": setup.counter.name,
        "note": setup.counter.note,
        "tokens": count.tokens,
        "exact": count.exact,
        "characters": len(text),
        "bytes": len(text.encode()),
        "window": setup.limits.window,
        "window_source": setup.limits.window_source,
    }
    if options.json:
        print_json(found)
    else:
        share = count.tokens / setup.limits.window
        print(f"{count.tokens:,} tokens{'' if count.exact else ' (approximate)'} in {printable(name)}")
        print(f"{found['characters']:,} characters, {found['bytes']:,} bytes; {setup.counter.note}")
        print(f"{percent(share, 1)} of a window of {setup.limits.window:,} ({setup.limits.window_source})")
    return 0


# workbench policies


def run_policies(options: argparse.Namespace) -> int:
    """List the presets, the policies of plug-ins, and the user's own."""
    found = [_described(name, "preset") for name in preset_names()]
    found += [_described(name, f"plug-in {each.distribution}") for name, each in POLICIES.entries().items()]
    found += [_described(str(path), str(path)) for path in user_policies()]
    if options.json:
        print_json({"policies": [{"name": name, "description": text, "from": where} for name, text, where in found]})
    else:
        print("\n".join(table(("name", "from", "what it does"), [(name, where, text) for name, text, where in found])))
    return 0


def _described(ref: str, where: str) -> tuple[str, str, str]:
    """Name, description and place of a policy; for a broken one, the error is its description."""
    try:
        policy = load_policy(ref, env={}).policy
    except WrongCall as error:
        return Path(ref).stem, f"broken: {error}", where
    return policy.name, policy.description, where


def run_policy(options: argparse.Namespace) -> int:
    """Print all knobs of one policy, and where each value came from."""
    loaded = load_policy(options.name, sets=options.set or ())
    rows = describe_policy(loaded)
    if options.json:
        knobs = [{"knob": row.name, "value": row.value, "from": row.origin} for row in rows]
        print_json({"name": loaded.policy.name, "description": loaded.policy.description, "knobs": knobs})
    else:
        print(printable(f"{loaded.policy.name}: {loaded.policy.description}") + "\n")
        print("\n".join(table(("knob", "value", "from"), [(row.name, row.written or "–", row.origin) for row in rows])))
    return 0


# workbench models


def run_models(options: argparse.Namespace) -> int:
    """List the models of servers on this machine, then those in the catalogue."""
    with Services() as services:
        words = " ".join(options.query).lower().split()
        here = [
            corrected_info(services.catalogue.find_model(each.name), None, each.model.window)
            for each in services.routes.all_offers()
        ]
        known = [services.catalogue.find_model(name) for name in services.catalogue.names()]
        found = [info for info in [*here, *known] if all(word in info.name.lower() for word in words)]
    if options.json:
        print_json({"models": [model_json(info) for info in found]})
    elif not found:
        print("no model of that name is known")
    else:
        rows = [
            (info.name, f"{info.window:,}", f"{info.max_output:,}" if info.max_output else "–", *price_texts(info))
            for info in found
        ]
        header = ("model", "window", "output", "$/M in", "$/M out")
        print("\n".join(table(header, rows, frozenset({1, 2, 3, 4}))))
    return 0


def run_local(options: argparse.Namespace) -> int:
    """List the servers on this machine that offer models, with the windows they report."""
    with Services() as services:
        servers = look_around(services.routes.ports)
    if options.json:
        print_json({"servers": [to_builtins(each) for each in servers]})
    elif not servers:
        print("no Ollama, llama.cpp, LM Studio or vLLM answers on this machine; -m local runs a small model itself")
    else:
        rows = [
            (printable(each.name), f"{each.model.window:,}" if each.model.window else "–", each.server.url)
            for each in offers_of(servers)
        ]
        print("\n".join(table(("model", "window", "server"), rows, frozenset({1}))))
    return 0


def model_json(info: ModelInfo) -> dict[str, Any]:
    """A model as JSON; prices are in US dollars per token."""
    found = {**structs.asdict(info), "capabilities": sorted(info.capabilities)}
    del found["long_prices"]
    return found


def run_model(options: argparse.Namespace) -> int:
    """Print everything known about one model, and where it comes from."""
    with Services() as services:
        offer = services.routes.offer(options.name)
        info = corrected_info(services.catalogue.find_model(options.name), None, offer.model.window if offer else None)
        close = services.catalogue.close_matches(options.name) if info.window_source == "guess" else []
        address = offer.server.url if offer else services.routes.address(options.name)
        key = services.routes.key(options.name)
    if options.json:
        source = {"from": key.origin, "variables": key.variables, "problem": key.problem or None}
        long = [{"above": each.above, **dict(each.prices)} for each in info.long_prices]
        print_json({**model_json(info), "long_prices": long, "address": address or None, "key": source})
        return 0
    price_in, price_out = price_texts(info)
    output = f"{info.max_output:,}" if info.max_output else "unknown"
    kind = "input alone" if info.input_only else "input and output together"
    rows = [
        ("window", f"{info.window:,} for {kind} ({info.window_source})"),
        ("maximum output", output),
        ("price", f"${price_in} in, ${price_out} out per million tokens"),
        ("provider", info.served_by),
        *([("address", printable(address))] if address else []),
        ("key", key.described),
        ("tokenizer", info.counts_with),
        ("can", ", ".join(sorted(info.capabilities)) or "unknown"),
    ]
    print("\n".join(table((printable(info.name), ""), rows)))
    if info.window_source == "guess":
        near = f" Did you mean {', '.join(close)}?" if close else ""
        print(f"\nUnknown model: its window is a guess. Set it under [models] in config.toml.{near}")
    return 0
