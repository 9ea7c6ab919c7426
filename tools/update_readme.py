# SPDX-License-Identifier: Apache-2.0
"""Called by update_readme.sh: README.md, folder of a reproduction, folder of what-if CSVs.

A copy of the README may be made from runs of a reduced size."""
import csv
import json
import pathlib
import re
import sys

PAGES_PER_VCPU = 4 * 2**30 // 4096
BASELINE, SERIES = "linux_5_18_rc2", "linux_5_18_rc2_series"
CORRECTED = "linux_5_18_rc2_corrected"  # runs of a reduced size leave it out
RUNS = {"april_2022": "Apr 2022", "august_2022": "Aug 2022"}


def replace(text, name, body):
    begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
    if begin not in text or end not in text:
        sys.exit(f"README.md has no section {name}")
    pattern = re.escape(begin) + ".*?" + re.escape(end)
    return re.sub(pattern, lambda _: f"{begin}\n{body.strip()}\n{end}", text, flags=re.S)


def percent(text, digits=1):
    return "" if text is None else f"{float(text):+.{digits}f} %"


def seconds(cell):
    return cell["simulated_ps"] / 1e12


class Reproduction:
    def __init__(self, folder, any_size):
        self.folder = pathlib.Path(folder)
        self.doc = json.loads((self.folder / "stage2-parallel-faults.json").read_text())
        self.scale = self.doc["scale"]
        if self.doc["failures"] or self.scale != 1 and not any_size:
            sys.exit("the README shows complete runs at full size only")
        self.placements = list(dict.fromkeys(t["placement"] for t in self.doc["tables"]))

    def column(self, table, series, placement=None):
        placement = placement or self.placements[0]
        for t in self.doc["tables"]:
            if t["table"] == table and t["placement"] == placement:
                for s in t["series"]:
                    if s["series"] == series:
                        return s
        sys.exit(f"no column {table} {series} {placement}")

    def has(self, table, series):
        return any(t["table"] == table and any(s["series"] == series for s in t["series"])
                   for t in self.doc["tables"])

    def cells(self, table, series):
        return {c["x"]: c for c in self.column(table, series)["cells"]}

    def run(self, series, x):
        scaled = "" if self.scale == 1 else f".scale{self.scale}"
        name = f"dirty_log_time_s.{series}.{x}.{self.placements[0]}.seed1{scaled}.json"
        return json.loads((self.folder / "runs" / name).read_text())


def results(r):
    size = "full-size runs" if r.scale == 1 else f"runs at 1/{r.scale} of the size"
    out = [
        f"`tools/reproduce.sh` made these from {size}, "
        f"vCPU placement {r.placements[0]}, seed 1 of {r.doc['seeds']}. Errors are against the run of",
        "April 2022 and that of August 2022. \\* marks cells that setting the costs may use;",
        "all others are predictions, not used.",
    ]
    for table, title in (("dirty_log_time_s", "Dirty log time (split 2M -> 4K), seconds"),
                         ("prefault_time_s", "Prefault time, seconds")):
        out += ["", f"**{title}**", ""]
        columns = [(BASELINE, "5.18-rc2", RUNS), (SERIES, "+ series", RUNS)]
        if r.has(table, CORRECTED):
            columns.insert(1, (CORRECTED, "5.18-rc2 with the April correction", {}))
        head = ["vCPUs"]
        for _, label, runs in columns:
            head += [f"{label}: {name}" for name in runs.values()]
            head += ["simulated", "errors"] if runs else [f"{label}: simulated", "error, Apr 2022"]
        head += ["speed-up Apr / Aug 2022", "simulated"]
        out += ["| " + " | ".join(head) + " |", "|" + " --: |" * len(head)]
        cells = {series: r.cells(table, series) for series, _, _ in columns}
        base, changed = cells[BASELINE], cells[SERIES]
        for x in base:
            row = [str(x)]
            for series, _, runs in columns:
                c = cells[series][x]
                row += [c["published"].get(key, "") for key in runs]
                row.append(f"{seconds(c):.2f}" + (" \\*" if c["role"] == "fitted" else ""))
                row.append(", ".join(percent(c["error_percent"].get(key))
                                     for key in runs or ("april_2022",)))
            published = [float(base[x]["published"][k]) / float(changed[x]["published"][k])
                         for k in RUNS]
            row.append(" / ".join(f"{p:.2f}x" for p in published))
            row.append(f"{seconds(base[x]) / seconds(changed[x]):.2f}x")
            out.append("| " + " | ".join(row) + " |")
    out += ["", "Mean and worst distance from the interval that the published runs span:", "",
            "| column | placement | cells | mean | worst | mean, predicted cells |",
            "| --- | --- | --: | --: | --: | --: |"]
    labels = {("dirty_log_time_s", BASELINE): "dirty log, 5.18-rc2",
              ("dirty_log_time_s", SERIES): "dirty log, series",
              ("prefault_time_s", BASELINE): "prefault, 5.18-rc2",
              ("prefault_time_s", SERIES): "prefault, series",
              ("fast_path_ms", "baseline"): "permission pass, spinlock (January 2022)",
              ("fast_path_ms", "fast_path"): "permission pass, fast path (January 2022)"}
    for (table, series), label in labels.items():
        for placement in r.placements:
            errors = r.column(table, series, placement)["errors"]
            every, predicted = errors["all"]["outside"], errors["predicted"]["outside"]
            out.append(f"| {label} | {placement} | {every['cells']} | "
                       f"{float(every['mean_percent']):.1f} % | {percent(every['worst_percent'])} | "
                       f"{float(predicted['mean_percent']):.1f} % ({predicted['cells']}) |")
    prefault = r.column("prefault_time_s", BASELINE)["errors"]["all"]
    out += ["", "The April prefault column of 5.18-rc2 is twice every later one, and nobody has said",
            "why; against the August run alone the mean error of that column is "
            f"{float(prefault['august_2022']['mean_percent']):.1f} %. The",
            "[April correction](docs/model.md#the-april-2022-prefault-column), off by default, adds",
            "two times that solve the difference of the two runs" +
            (": its column is a fit to them." if r.has("prefault_time_s", CORRECTED) else ".")]
    moved = [f"{t['table']} {s['series']} {c['x']} {t['placement']} ({float(c['seed_spread_percent']):.1f} %)"
             for t in r.doc["tables"] for s in t["series"] for c in s["cells"]
             if float(c["seed_spread_percent"]) > 2]
    if r.doc["seeds"] > 1:
        out += ["", f"Over {r.doc['seeds']} seeds, compared at 1/64 of the memory, " +
                (f"these cells move by more than 2 %: {'; '.join(moved)}." if moved
                 else "no cell moves by more than 2 %.")]
    return "\n".join(out)


def share(cell, *parts):
    total = sum(t for name, t in cell["breakdown_ps"].items() if name != "idle")
    return 100 * sum(cell["breakdown_ps"].get(p, 0) for p in parts) / total


def why(r):
    old, new = r.cells("dirty_log_time_s", BASELINE), r.cells("dirty_log_time_s", SERIES)
    hold = next(l for l in r.run(BASELINE, 1)["locks"] if l["type"] == "rwlock:W")["hold"]["p50_ps"] / 1e3
    cleaning = old[1]["breakdown_ps"]["cache_maintenance"] / PAGES_PER_VCPU / 1e3
    alone = seconds(old[1]) / PAGES_PER_VCPU * 1e9
    each_old = seconds(old[48]) / 48 / PAGES_PER_VCPU * 1e9
    each_new = seconds(new[48]) / 48 / PAGES_PER_VCPU * 1e9
    moving = ("mmap_lock", "mmu_lock_line")
    return "\n".join([
        "1. On 5.18-rc2 every fault of this pass (one permission fault that splits a 2 MiB block, then",
        f"   511 translation faults) takes `mmu_lock` for write and holds it for {hold:.0f} ns, {cleaning:.0f} ns",
        "   of them to clean the 4 KiB page to memory.",
        f"2. A vCPU alone needs {alone:.0f} ns a fault, so two vCPUs still fit beside each other; from the",
        "   third on the lock is always taken, and every hand-over to a waiter adds up to three moves of the",
        f"   lock's cache line, which makes {each_old:.0f} ns a fault for the whole system, however many vCPUs there are:",
        f"   at 4 vCPUs {share(old[4], 'mmu_lock_wait'):.0f} % of their time is waiting for the lock, at 48 "
        f"{share(old[48], 'mmu_lock_wait'):.0f} %.",
        "3. The series takes the lock for read and lets compare-and-swap decide who changes an entry, so the",
        "   holds overlap, and 8 vCPUs take "
        f"{seconds(new[8]) / seconds(new[1]):.2f} times as long as one for eight times the faults.",
        "4. What is left are four atomic updates of two shared cache lines a fault, `mmap_lock` in and out",
        "   and `mmu_lock` in and out; a line serves one core at a time, so each of the two lines admits one",
        f"   fault in two transfers over the mesh, {each_new:.0f} ns.",
        f"5. From 16 vCPUs on the pass runs at that rate: moving the two lines is "
        f"{share(new[16], *moving):.0f} % of the vCPUs' time at 16",
        f"   and {share(new[48], *moving):.0f} % at 48, while cleaning pages is "
        f"{share(new[48], 'cache_maintenance'):.0f} %.",
    ])


def what_if(folder):
    def gains(scenario, switch, usual, changed):
        rows = csv.DictReader((pathlib.Path(folder) / f"{scenario}.{switch}.csv").open())
        times = {(row["vm.vcpus"], row[f"hypervisor.{switch}"]): float(row["value"]) for row in rows}
        counts = sorted({int(v) for v, _ in times})
        return [(v, times[str(v), usual] / times[str(v), changed]) for v in counts]

    out = ["Speed-up of the series by a switch alone (256 MiB a vCPU, second dirty pass):", "",
           "| pass | what if | 1 vCPU | 16 vCPUs | 48 or 64 vCPUs |", "| --- | --- | --: | --: | --: |"]
    for scenario, name in (("stage2-parallel-faults", "split 2M -> 4K"),
                           ("permission-fast-path", "4K permission faults")):
        for switch, usual, changed, question in (
                ("mmap_lock", "true", "false", "`mmap_lock` were not taken"),
                ("relax_tlbi", "broadcast", "local", "TLBIs after relaxing were local")):
            cells = " | ".join(f"{g:.2f}x" for _, g in
                               gains(scenario, switch, usual, changed))
            out.append(f"| {name} | {question} | {cells} |")
    return "\n".join(out)


def main():
    readme, folder, answers = sys.argv[1:]
    path = pathlib.Path(readme)
    text = path.read_text()
    own = pathlib.Path(__file__).resolve().parent.parent / "README.md"
    r = Reproduction(folder, any_size=path.resolve() != own)
    text = replace(text, "results", results(r))
    text = replace(text, "why", why(r))
    text = replace(text, "what-if", what_if(answers))
    path.write_text(text)


main()
