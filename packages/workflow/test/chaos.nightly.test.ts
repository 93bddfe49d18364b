import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ChaosResult, runChaos } from "../src/chaos/chaos.ts";
import type { WorkflowFn } from "../src/contract/contract.ts";
import { type Fixture, fixtureFormat } from "../src/contract/fixture.ts";
import { runThread } from "../src/testing/run-thread.ts";
import {
  type Defect,
  defects,
  durableProgram,
  moderatedProgram,
  plainProgram,
  type Program,
} from "./fixtures/programs.ts";

setDefaultTimeout(3_600_000);
const folder = mkdtempSync(join(tmpdir(), "uncaged-chaos-test-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const first = Number(process.env.TEST_SEED ?? 1);
const sound = Number(process.env.SOUND ?? 500);
const runsOfEach = 30;
const perDefect = Number(process.env.PER ?? 20);

/** Builds a workflow. Uses only Bun's bundler, for speed. */
async function built({ source }: Program, name: string): Promise<string> {
  const file = join(folder, `${name}.ts`);
  writeFileSync(file, source);
  const plugin: Bun.BunPlugin = {
    name: "own",
    setup: (builder) => {
      const path = join(import.meta.dir, "../src/entry/index.ts");
      builder.onResolve({ filter: /^@uncaged\/workflow$/ }, () => ({ path }));
    },
  };
  const { outputs } = await Bun.build({ entrypoints: [file], target: "bun", plugins: [plugin] });
  const code = await outputs[0]?.text();
  writeFileSync(`${file}.esm.js`, code ?? "");
  return code ?? "";
}

async function recorded(name: string): Promise<Fixture> {
  const { run } = (await import(join(folder, `${name}.ts.esm.js`))) as { run: WorkflowFn };
  const cwd = join(folder, name);
  mkdirSync(cwd);
  const { steps } = await runThread(run, { prompt: "prompt", answers: () => '"answer"', cwd });
  const given = { threadId: "01CHA0S0000000000000000000", workflow: name, hash: "" };
  return { format: fixtureFormat, version: 1, ...given, prompt: "prompt", steps };
}

async function chaosOf(
  program: Program,
  name: string,
  { seed, isLive, runs }: { seed: number; isLive: boolean; runs: number | null },
) {
  const code = await built(program, name);
  const fixture = await recorded(name);
  const sources = [{ file: `${name}.ts`, text: program.source }];
  const given = { workflow: name, code, sources, prompt: "prompt", files: null, only: null };
  return await runChaos({ ...given, fixture, isLive, seed, runs });
}

const shown = (program: Program, { diverged }: ChaosResult): string =>
  diverged.length === 0 ? "" : `${program.source}\n${JSON.stringify(diverged[0], null, 2)}`;

test("sound workflows cause no false alarms", async () => {
  const alarms: string[] = [];
  for (let seed = first; seed < first + sound; seed += 1) {
    const kind = seed % 10;
    const makes = kind === 0 ? plainProgram : kind < 3 ? moderatedProgram : durableProgram;
    const program = makes(seed);
    const found = await chaosOf(program, `sound${seed}`, {
      ...{ seed, runs: runsOfEach, isLive: kind === 0 || kind % 2 === 1 },
    });
    if (found.end?.reason === "failed") alarms.push(`seed ${seed}: ${found.end.summary}`);
    else if (found.diverged.length > 0) alarms.push(`seed ${seed}: ${shown(program, found)}`);
  }
  expect(alarms).toEqual([]);
});

test.each(defects.map((defect): [string, Defect] => [defect.kind, defect]))(
  "a planted defect is found on its line: %s",
  async (kind, defect) => {
    const missed: string[] = [];
    for (let seed = first; seed < first + perDefect; seed += 1) {
      const program = durableProgram(seed, defect);
      const name = `${kind}${seed}`;
      const found = await chaosOf(program, name, { seed, isLive: defect.live, runs: null });
      const paths = found.diverged.map(({ path }) => path ?? "nowhere");
      const isNamed = paths.some((path) => path.startsWith(`${name}.ts:${program.line}:`));
      if (!isNamed) missed.push(`seed ${seed}, line ${program.line}: ${shown(program, found)}`);
    }
    expect(missed).toEqual([]);
  },
);
