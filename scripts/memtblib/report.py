# SPDX-License-Identifier: GPL-2.0
"""What came out of a run: the record (JSON, one schema) and the table in mail form."""

import hashlib
import json
from pathlib import Path

from . import results
from .errors import MISS, UserError

VERSION = 1
SCHEMA = Path(__file__).parent / "result.schema.json"
RECORD, TEXT = "result.json", "report.txt"
STEPS = ("check", "install", "modules")
TIMES = ("real", "user", "sys", "machine_user", "machine_sys", "machine_idle")
SHOWN = ("real", "user", "sys", "machine_sys")
COUNTERS = ("list_steps", "lock_holds", "lock_hold_ns", "allocs", "frees")
WIDTH = 72


def parse_times(text):
    """{label: {time: ns}} of what `timed` wrote."""
    found = {}
    for line in text.splitlines():
        label, *pairs = line.split()
        values = {key: int(value) for key, _, value in (pair.partition("=") for pair in pairs)}
        found[label] = {name: values[f"{name}_ns"] if f"{name}_ns" in values
                        else values[f"{name}_us"] * 1000 for name in TIMES}
    return found


def parse_pairs(text):
    """{key: number} of a debugfs file's "key value" lines; other lines are passed over."""
    pairs = (line.split() for line in text.splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs
            if len(pair) == 2 and pair[1].lstrip("-").isdecimal()}


def add(steps):
    """The sum of several steps' times."""
    return {name: sum(step[name] for step in steps) for name in TIMES}


def mean(runs):
    """The mean in whole nanoseconds."""
    return {name: sum(run[name] for run in runs) // len(runs) for name in TIMES}


def ratio(value, base):
    """Three decimals; None where there is nothing to divide by."""
    return round(value / base, 3) if base else None


def divide(value, count):
    """Two decimals; 0 where nothing happened."""
    return round(value / count, 2) if count else 0.0


def operations(difference):
    """Allocations and frees."""
    return difference["allocs"] + difference["frees"]


def difference(before, after):
    """The counters' way between two looks, and what follows from it."""
    gone = {name: after.get(name, 0) - before.get(name, 0) for name in COUNTERS}
    gone["list_steps_per_op"] = divide(gone["list_steps"], operations(gone))
    return gone


def read_files(outcome):
    """{name: text} of what the guest sent."""
    return {name: path.read_text(encoding="utf-8", errors="replace")
            for name, path in outcome.files.items()}


def runs_of(files):
    """The runs of one guest in order: name, times, steps."""
    times = parse_times(files.get("times", ""))
    names = list(dict.fromkeys(label.split(".")[0] for label in times))
    found = []
    for name in names:
        steps = {step: times[f"{name}.{step}"] for step in STEPS if f"{name}.{step}" in times}
        if len(steps) == len(STEPS):
            found.append({"name": name, **add(steps.values()), "steps": steps})
    return found


def memtb_of(files, runs):
    """memtb's own figures; None where memtb was not loaded."""
    if "stats-start" not in files:
        return None
    looks = ["start", *(run["name"] for run in runs)]
    stats = [parse_pairs(files.get(f"stats-{look}", "")) for look in looks]
    live = parse_pairs(files.get(f"live-{looks[-1]}", ""))
    for run, before, after in zip(runs, stats, stats[1:]):
        run["counters"] = difference(before, after)
    last = stats[-1]
    return {
        "coverage_permille": live.get("coverage_permille", 0),
        **{name: live.get(name, 0) for name in (
            "alloc_taken", "alloc_native", "alloc_fallback", "free_taken", "free_native",
            "live_objects")},
        "timed": difference(stats[0], last) if runs else None,
        **{name: last.get(name, 0) for name in (
            "list_steps_max", "lock_hold_max_ns", "pages_now", "pages_peak", "pages_got",
            "pages_put")},
    }


def config_of(name, outcome):
    """The record of one configuration."""
    files = read_files(outcome)
    runs = runs_of(files)
    entry = {"name": name, "verdict": outcome.verdict, "reasons": outcome.reasons,
             "dir": outcome.dir.name if outcome.dir else None,
             "memtb": memtb_of(files, runs), "runs": runs,
             "mean": mean(runs) if runs else None, "ratio": None}
    return entry


def add_ratios(configs):
    """Ratios of the means to the first configuration's, where that is `off`."""
    base = configs[0]["mean"] if configs and configs[0]["name"] == "off" else None
    for config in configs:
        if base and config["mean"]:
            config["ratio"] = {name: ratio(config["mean"][name], base[name]) for name in SHOWN}


def fingerprint(configs):
    """A digest of all figures, to compare two calls at a glance."""
    figures = [[config["name"], config["runs"], config["memtb"]] for config in configs]
    text = json.dumps(figures, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def record(head, outcomes, verdict):
    """The record of a whole call."""
    configs = [config_of(name, outcome) for name, outcome in outcomes.items()]
    add_ratios(configs)
    return {"version": VERSION, **head,
            "unit": "guest instructions; 1 instruction = 1 ns of guest time",
            "verdict": verdict, "configs": configs, "figures": fingerprint(configs)}


def validate(data, path=SCHEMA):
    """Refuse a record that is not what the schema says."""
    # Debian's, and only needed here: `memtb --help` shall not depend on it.
    import jsonschema  # pylint: disable=import-outside-toplevel
    schema = json.loads(path.read_text(encoding="utf-8"))
    try:
        jsonschema.Draft7Validator(schema).validate(data)
    except jsonschema.ValidationError as error:
        where = "/".join(map(str, error.absolute_path)) or "top"
        raise UserError(f"not a result record: {where}: {error.message}", MISS) from error


def write(place, data):
    """result.json and report.txt into a results directory."""
    validate(data)
    results.write_json(place / RECORD, data)
    (place / TEXT).write_text(text(data), encoding="utf-8")


def read(place):
    """The record of a results directory, or of the file itself."""
    path = Path(place) / RECORD if Path(place).is_dir() else Path(place)
    data = results.read_json(path)
    if data is None:
        raise UserError(f"{path}: no result record", MISS)
    validate(data)
    return data


def seconds(nanoseconds):
    """To the millisecond, as in the reports of old."""
    return f"{nanoseconds / 1e9:.3f}"


def _row(words):
    first, *others = words
    return (f"  {first:<9}" + "".join(f"{word:>14}" for word in others)).rstrip()


def _times_table(config):
    lines = [_row(["", "real", "user", "sys", "machine sys"])]
    rows = [(run["name"], run) for run in config["runs"]]
    rows += [("mean", config["mean"])] if config["mean"] else []
    lines += [_row([name, *(seconds(times[key]) for key in SHOWN)]) for name, times in rows]
    if config["ratio"] and config["name"] != "off":
        lines.append(_row(["x off", *(f"{config['ratio'][key]:.3f}" if config["ratio"][key]
                                      else "-" for key in SHOWN)]))
    return lines


def _mechanism(config):
    """memtb's counters in words; the list and the lock say why the time is what it is."""
    memtb = config["memtb"]
    if memtb is None:
        return []
    lines = [f"  coverage          {memtb['coverage_permille'] / 10:.1f} % of "
             f"{memtb['alloc_taken'] + memtb['alloc_native']} allocations since the switch"]
    timed = memtb["timed"]
    if timed and operations(timed):
        lines += [
            f"  list steps        {timed['list_steps_per_op']:.2f} per operation "
            f"(at most {memtb['list_steps_max']})",
            f"  interrupts off    {memtb['lock_hold_max_ns'] / 1000:.1f} us at the longest, "
            f"{seconds(timed['lock_hold_ns'])} s in all",
            f"  lock holds        {timed['lock_holds']} in all runs",
            f"  pages             {memtb['pages_now']} now, {memtb['pages_peak']} at the peak"]
    return lines


def _title(name):
    words = {"off": "the kernel's own allocator, no memtb",
             "pass": "memtb's hooks in, all passed to the kernel's own allocator"}
    designs = {"slob": "plain SLOB", "slob-new": "SLOB by caches",
               "slob-page": "SLOB by pages", "slab": "SLAB"}
    backend = name.split("+")[0]
    lives = f"the kernel lives on memtb's {designs.get(backend, backend)}"
    return f"{name}: {words.get(name, lives)}"


def _config(config):
    lines = [_title(config["name"]), *_times_table(config)]
    lines += _mechanism(config)
    if config["verdict"] != "PASS":
        lines.append(f"  {config['verdict']}:")
        lines += [f"    {reason}" for reason in config["reasons"]]
    return lines + [""]


def _summary(configs):
    """The line that is quoted: times the base's."""
    first = max(12, *(len(config["name"]) + 2 for config in configs))
    other = min(14, max(12, (WIDTH - first) // len(SHOWN)))

    def row(name, words):
        return f"{name:{first}}" + "".join(f"{word:>{other}}" for word in words)
    lines = [row("", ("real", "user", "sys", "machine sys"))]
    for config in configs:
        if config["ratio"]:
            lines.append(row(config["name"], (f"x{config['ratio'][key]:.2f}" if config["ratio"][key]
                                              else "-" for key in SHOWN)))
    return lines if len(lines) > 1 else []


def _foot(data):
    tree = data["tree"]
    installed = ("equal in every run" if data["verdict"] == "PASS" else "see the verdict")
    return [
        f"verdict   {data['verdict']}; check sums of the installed tree: {installed}",
        f"load      up-to-date check of a built kernel tree on NFS ({tree['size']}:",
        f"          {tree['objects']} objects, {tree['modules']} modules), install, "
        "modules_install",
        "units     seconds of guest time: guest instructions, 1 insn = 1 ns,",
        "          not host time; equal on every call, to the last digit.",
        "          user and sys are make's and its children's; machine sys is",
        "          all kernel time, nfsd and rpciod included. run1 begins with",
        "          an empty NFS client.",
        f"kernel    {data['kernel']} {data['flavour']}, {data['compiler']}",
        f"command   {data['command']}",
        f"commit    {data['commit']}",
        f"figures   {data['figures']} (a digest of all of the above figures)",
    ]


def text(data):
    """The report."""
    lines = [f"make install over NFS, {data['flavour']}, {data['runs']} runs each", ""]
    for config in data["configs"]:
        lines += _config(config)
    summary = _summary(data["configs"])
    lines += [*summary, ""] if summary else []
    return "\n".join([*lines, *_foot(data)]) + "\n"
