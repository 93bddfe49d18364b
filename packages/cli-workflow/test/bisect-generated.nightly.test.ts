import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { WAIT, type WorkflowFn } from "@uncaged/workflow";
import { Chance } from "../../../test/check/chance.ts";
import { World } from "../../../test/check/threads.ts";
import {
  allRoles,
  durableRoles,
  generatedHistory,
  type History,
  orderScript,
  type Positions,
  positionsIn,
  rolesOf,
  rolesScript,
  statusScript,
} from "./bisect/histories.ts";
import { documentBundler, documentKinds } from "./bisect/documents.ts";
import { type Answer, Home } from "./bisect/home.ts";
import {
  certainPlace,
  type Body,
  branchByChance,
  bundler,
  charging,
  constant,
  drawing,
  edited,
  edits,
  type Fault,
  faults,
  generatedBody,
  notIdempotent,
  withoutDelays,
} from "./bisect/programs.ts";
import { programWords } from "./command.ts";
import { newFolder, removeFolders } from "./program.ts";

setDefaultTimeout(600_000);
afterAll(removeFolders);

const seed = Number(process.env.TEST_SEED ?? 1);
/** The number of histories of each kind. */
const count = 5;

const world = new World();
let folder: string;
let files = 0;
let bundle: (body: Body) => string;

beforeAll(async () => {
  folder = newFolder();
  (globalThis as { bisectedWorld?: World }).bisectedWorld = world;
  writeFileSync(
    join(folder, "world.ts"),
    "export const world = (globalThis as any).bisectedWorld;",
  );
  bundle = await bundler();
});

async function load(body: Body): Promise<WorkflowFn> {
  files += 1;
  const file = join(folder, `p${files}.ts`);
  writeFileSync(file, drawing(body, "./world.ts"));
  return ((await import(file)) as { run: WorkflowFn }).run;
}

type Fits = (history: History) => boolean;

/** Generates histories with a place for the fault, the first one whole, and stores each in a home of its own. */
async function* homesOf(fault: Fault | null, wanted: number, fits: Fits = () => true) {
  let found = 0;
  for (let n = seed * 1_000; found < wanted; n += 1) {
    const history = await generatedHistory(n, fault, { load, world });
    if (history === null || !fits(history)) continue;
    if (!history.isWhole && (found === 0 || fault?.shows === "status")) continue;
    found += 1;
    const home = new Home();
    await home.add(history.bodies.map(bundle));
    const id = await home.record(history.recordedAt, history.recording);
    yield { history, home, id };
  }
}

const atOnce = 3;

/** Does work for each item, some at a time. */
async function each<Item>(items: AsyncGenerator<Item>, act: (item: Item) => Promise<void>) {
  const lane = async () => {
    for (let next = await items.next(); !next.done; next = await items.next())
      await act(next.value);
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
}

const mostTests = ([good, bad]: Positions["range"]): number =>
  Math.ceil(Math.log2(bad - good + 1)) + 2;

/** Checks that an answer names the planted version, and that each tested version has the right result. */
function expectFound(
  what: object,
  answer: Answer,
  { planted, range }: Positions,
  home: Home,
): void {
  const { code, firstBad, tested = [], error, stderr } = answer;
  const at = (version: string) => home.hashes.indexOf(version);
  const wrong = tested.filter(
    ({ version, result }) => (result === "bad") !== at(version) >= (planted ?? Infinity),
  );
  expect({ ...what, code, error, at: at(firstBad ?? ""), wrong, stderr }).toEqual({
    ...{ ...what, code: 0, error: undefined, at: planted ?? -1, wrong: [], stderr: "" },
  });
  expect(tested.length).toBeLessThanOrEqual(mostTests(range));
  expect(new Set(tested.map(({ version }) => version)).size).toBe(tested.length);
}

/** Checks that an answer names no version, and says that an end of the range is not as stated. */
function expectRefused(what: object, answer: Answer, stated: "good" | "bad"): void {
  const result = stated === "good" ? "bad" : "good";
  expect({ ...what, ...answer }).toEqual({
    ...{ ...what, code: 1, stderr: "" },
    error: expect.objectContaining({
      code: "BISECT_RANGE",
      message: expect.stringMatching(
        new RegExp(`^the ${stated} version \\S+ is ${result}$`),
      ) as string,
    }) as Answer["error"],
  });
}

/** The arguments that judge the versions of a history: a script, and a status if the status shows the fault. */
function judgesOf({ shows }: Fault, history: History, chance: Chance): string[][] {
  const { isWhole, place, recording } = history;
  const { steps } = recording;
  // A kept sleep of hours is over at once.
  const slept = steps.findIndex(({ meta, role }) => role === WAIT && meta.sleep === true) + 1;
  const keeping = (most: number): [number, string[]] => {
    const some = [0, chance.below(most + 1), slept <= most ? slept : 0];
    const kept = some[chance.below(some.length)] as number;
    return [kept, kept === 0 ? [] : ["--step", String(kept)]];
  };
  const completed = ["--expect-status", "completed"];
  if (shows === "order") {
    const status = [...completed, "--step", String(place.step)];
    return [["--script", orderScript(place)], ...(isWhole ? [status] : [])];
  }
  const status = [...completed, ...keeping(steps.length)[1]];
  if (shows === "status") return [["--script", statusScript("completed")], status];
  // Kept steps would hide the fault from a script that looks at the roles.
  const [kept, keep] = keeping(place.step - 1);
  // The end of a thread that did not return may be in the middle of concurrent roles.
  const isFirst = recording.end !== "returned";
  const roles = rolesOf(isFirst ? steps.slice(0, place.step) : steps, durableRoles, kept);
  const script = ["--script", rolesScript(roles, durableRoles, isFirst), ...keep];
  return [script, ...(isWhole ? [status] : [])];
}

const env = { PLANTED_FLAG: "1" };

describe("durable workflows", () => {
  for (const [name, fault] of Object.entries(faults)) {
    test(`finds ${name}`, async () => {
      let byStatus = 0;
      await each(homesOf(fault, count), async ({ history, home, id }) => {
        const chance = new Chance(history.seed);
        for (const args of judgesOf(fault, history, chance)) {
          const answer = await home.bisect(id, history.range, args, { env });
          expectFound({ seed: history.seed, args }, answer, history, home);
          byStatus += Number(args.includes("--expect-status"));
        }
      });
      expect(byStatus).toBeGreaterThan(0);
    });
  }

  test("names no version without a fault", async () => {
    await each(homesOf(null, 2 * count), async ({ history, home, id }) => {
      const shown = history.isWhole ? Object.values(faults) : [faults["a renamed role"]];
      const fault = shown[history.seed % shown.length] as Fault;
      const judges = judgesOf(fault, history, new Chance(history.seed));
      for (const args of judges) {
        const what = { seed: history.seed, args };
        expectRefused(what, await home.bisect(id, history.range, args, { env }), "bad");
      }
    });
  });

  test("names no version if the fault is older than the range", async () => {
    const { "a renamed role": fault } = faults;
    if (!fault) throw new Error("no fault");
    const isOlder: Fits = ({ bodies, planted }) => planted !== null && planted < bodies.length - 1;
    await each(homesOf(fault, count, isOlder), async ({ history, home, id }) => {
      const range = [history.planted ?? 0, history.bodies.length - 1] as const;
      for (const args of judgesOf(fault, history, new Chance(history.seed))) {
        const answer = await home.bisect(id, range, args, { env });
        expectRefused({ seed: history.seed, args }, answer, "good");
      }
    });
  });

  test("names no version next to skipped versions, and the planted version otherwise", async () => {
    const { "a renamed role": fault } = faults;
    if (!fault) throw new Error("no fault");
    await each(homesOf(fault, 2 * count), async ({ history, home, id }) => {
      const { place, planted, range, seed: n } = history;
      const [good, bad] = range;
      if (planted === null) return;
      const chance = new Chance(n);
      const skipped = home.hashes.filter((_, at) => at > good && at < bad && chance.is(0.3));
      const skip = `case "$BISECT_VERSION" in ${skipped.join("|")}) exit 125;; esac`;
      const judge = `grep -q '{"role":"${place.a}","content"' || exit ${1 + chance.below(124)}`;
      const script = skipped.length > 0 ? `${skip}; ${judge}` : judge;
      const answer = await home.bisect(id, range, ["--script", script]);
      const isHidden = [planted - 1, planted].some((at) => skipped.includes(home.hashes[at] ?? ""));
      expect({ n, script, code: answer.code, firstBad: answer.firstBad }).toEqual({
        ...{ n, script, code: Number(isHidden) },
        firstBad: isHidden ? null : home.hashes[planted],
      });
    });
  });
});

/** Versions of a workflow whose thread is recorded by a run: the fault is planted in a sound history. */
function* runsOf(fault: Fault, wanted: number, from: (body: Body) => Body) {
  for (let n = seed * 1_000, found = 0; found < wanted; n += 1) {
    const body = from(generatedBody(n));
    const place = certainPlace(body);
    if (place === null) continue;
    found += 1;
    const chance = new Chance(n);
    const positions = positionsIn(chance, true);
    const bodies = [body];
    while (bodies.length < positions.count) {
      const before = bodies.at(-1) as Body;
      const isPlanted = bodies.length === positions.planted;
      bodies.push(
        isPlanted ? fault.plant(before, place, chance) : edited(bodies, chance, edits.after),
      );
    }
    yield { n, bodies, positions };
  }
}

const some = Math.ceil(count / 4);

describe("runs", () => {
  test("with --live finds a role that is not idempotent", async () => {
    for (const { n, bodies, positions } of runsOf(notIdempotent, some, charging)) {
      const home = new Home();
      await home.add(bodies.map(bundle));
      const id = await home.run(positions.recordedAt);
      for (const args of [
        ["--script", statusScript("completed"), "--live"],
        ["--expect-status", "completed", "--live"],
      ]) {
        const answer = await home.bisect(id, positions.range, args);
        expectFound({ n, args }, answer, positions, home);
        // The recording answers the role.
        const answered = await home.bisect(id, positions.range, args.slice(0, 2));
        expectRefused({ n, args }, answered, "bad");
      }
    }
  });

  for (const [name, fault] of Object.entries(faults)) {
    if (fault.shows === "order") continue;
    test(`of the program, with built versions, find ${name}`, async () => {
      for (const { n, bodies, positions } of runsOf(fault, 1, withoutDelays)) {
        const home = new Home();
        await home.build(bodies.map((body, at) => constant(body, `version ${at}`)));
        const id = await home.run(positions.recordedAt);
        for (const args of [
          ["--script", statusScript("completed")],
          ["--expect-status", "completed"],
        ]) {
          const answer = await home.bisect(id, positions.range, args, { env, isApart: true });
          expectFound({ n, args }, answer, positions, home);
        }
      }
    });
  }

  test("find a branch by chance if the script checks each version", async () => {
    const program = programWords.map((word) => `'${word}'`).join(" ");
    for await (const { history, home, id } of homesOf(branchByChance, some)) {
      const check = `${program} --root ${home.store.root} check generated --on "$BISECT_VERSION"`;
      const answer = await home.bisect(id, history.range, ["--script", check], { isApart: true });
      expectFound({ seed: history.seed }, { ...answer, stderr: "" }, history, home);
    }
  });
});

describe("documents", () => {
  for (const [name, kind] of Object.entries(documentKinds)) {
    test(`finds a changed step in ${name}, and nothing without one`, async () => {
      const bundleOf = await documentBundler(kind);
      let byStatus = 0;
      const cases = async function* () {
        for (let n = seed * 1_000, found = 0; found < count; n += 1) {
          const recorded = await kind.recorded(n);
          if (recorded?.isAnswered || (recorded && found > 0))
            yield { n, recorded, at: (found += 1) };
        }
      };
      await each(cases(), async ({ n, recorded, at }) => {
        const { document, steps, isAnswered } = recorded;
        const chance = new Chance(n);
        const positions = positionsIn(chance, true);
        const { planted, recordedAt, range } = positions;
        const isAdded = at % 2 === 0 && recorded.added !== undefined;
        const changed = isAdded ? recorded.added?.() : recorded.renamed(chance);
        const home = new Home();
        const versions = Array.from({ length: positions.count }, (_, version) =>
          kind.edited(version < (planted ?? 0) ? document : changed, version),
        );
        await home.add(versions.map(bundleOf));
        const start = {
          ...{ name: "generated", hash: "", threadId: "", timestamp: Date.now() },
          parameters: { prompt: "in", options: { maxRounds: 20_000 } },
        };
        const id = await home.record(recordedAt, { start, steps, end: "returned" });
        const roles = rolesScript(rolesOf(steps, allRoles), allRoles);
        const judge = `${statusScript("completed")} "$BISECT_THREAD" && exec < "$BISECT_THREAD"`;
        const script = `cat > "$BISECT_THREAD"; ${judge} && ${roles}`;
        const status = ["--expect-status", "completed"];
        const isShown = isAdded || isAnswered;
        for (const args of [["--script", script], ...(isShown ? [status] : [])]) {
          const answer = await home.bisect(id, range, args);
          expectFound({ n, isAdded, args }, answer, positions, home);
          byStatus += Number(args === status);
          if (args === status || planted === null || planted === 1) continue;
          const sound = await home.bisect(id, [0, planted - 1], args);
          expectRefused({ n, args }, sound, "bad");
        }
      });
      expect(byStatus).toBeGreaterThan(0);
    });
  }
});
