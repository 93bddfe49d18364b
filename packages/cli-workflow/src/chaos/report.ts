import type { ChaosDivergence, ChaosResult } from "@uncaged/workflow/internal";
import { count, grouped, oneLine } from "../output/text.ts";

/** The output of `chaos --json`. */
export type ChaosReport = {
  seed: number;
  runs: number;
  faults: number;
  repeated: ChaosResult["repeated"];
  diverged: ChaosDivergence[];
  replay: string;
};

/** Formats a report for people. */
export function reportText({
  seed,
  runs,
  faults,
  repeated,
  diverged,
  replay,
}: ChaosReport): string {
  const what = `seed ${seed}: ${count(runs, "run")} with ${count(faults, "fault")}, ${grouped(diverged.length)} diverged\n`;
  const again = repeated.map(
    ({ role, times, path }) => `  ${oneLine(role)}  ${times} times for one step${placed(path)}\n`,
  );
  const lines = diverged.slice(0, mostShown).map(divergenceText);
  const more =
    diverged.length > mostShown ? `and ${grouped(diverged.length - mostShown)} more\n` : "";
  const parts = [
    what,
    again.length > 0 ? `\nran again after a fault\n${again.join("")}` : "",
    lines.length > 0 ? `\ndiverged\n${lines.join("")}${more}` : "",
    `\nreplay: ${replay}\n`,
  ];
  return parts.join("");
}

const mostShown = 10;

function divergenceText(one: ChaosDivergence): string {
  const { run, runs, faults, step, undisturbed, faulted, role, path, repeated } = one;
  const more = runs > 1 ? ` (and ${count(runs - 1, "run")} more)` : "";
  const which = run === 0 ? "without a fault" : `run ${run}, after ${faults.join(", ")}${more}`;
  const where = step === null ? "" : `step ${step}, `;
  const again = repeated.map(({ role: name, path: at }) => `${oneLine(name)}${placed(at)}`);
  return [
    `  ${which}: ${where}${role === null ? "its code" : `role ${oneLine(role)}`}${placed(path)}\n`,
    `    undisturbed: ${oneLine(undisturbed ?? "nothing")}\n`,
    `    faulted:     ${oneLine(faulted ?? "nothing")}\n`,
    again.length > 0 ? `    ran again:   ${again.join(", ")}\n` : "",
  ].join("");
}

const placed = (path: string | null): string => (path === null ? "" : ` at ${path}`);
