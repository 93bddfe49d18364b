import type { ChaosDivergence, ChaosResult } from "@uncaged/workflow/internal";
import { count, grouped, oneLine } from "../output/text.ts";

/** The output of `chaos --json`. */
export type ChaosReport = {
  seed: number;
  runs: number;
  faults: number;
  repeated: ChaosResult["repeated"];
  diverged: ChaosDivergence[];
  replay: string | null;
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
    replay === null ? "" : `\nreplay: ${replay}\n`,
  ];
  return parts.join("");
}

const mostShown = 10;

function divergenceText(one: ChaosDivergence): string {
  const { run, faults, step, undisturbed, faulted, path, repeated } = one;
  const why = faults.length === 0 ? "without a fault" : `after ${faults.join(", ")}`;
  const again = repeated.map(({ role, path: at }) => `${oneLine(role)}${placed(at)}`);
  return [
    `  run ${run}, ${why}: step ${step}${placed(path)}\n`,
    `    undisturbed: ${undisturbed ?? "nothing"}\n`,
    `    faulted:     ${faulted ?? "nothing"}\n`,
    again.length > 0 ? `    ran again:   ${again.join(", ")}\n` : "",
  ].join("");
}

const placed = (path: string | null): string => (path === null ? "" : ` at ${path}`);
