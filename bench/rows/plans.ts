import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { openLocalHost } from "../../packages/workflow/src/host.ts";
import type { Bundle, RoleOutput } from "../../packages/workflow/src/contract/contract.ts";
import { durable } from "../../packages/workflow/src/durable/durable.ts";
import { planBundle } from "../../packages/workflow-plan/src/index.ts";
import {
  nextDue,
  openPlans,
  type Plans,
  tick,
  triggerStates,
} from "../../packages/workflow-plan/src/service.ts";
import { type Built, bunArguments } from "../command.ts";
import { engineOf } from "../engine.ts";
import { inTurn, type Sample, sampleOf, timed } from "../measure.ts";
import { line, type Line, type Row } from "../row.ts";
import { makeStore } from "../store.ts";

const count = 10_000;
const times = 15;
const steps = 200;
const threads = 9;
const windowMs = 5_000;
const windows = 3;

/** 10,000 plans whose triggers are not due: listed, passed over, served; and the time between two of 200 steps. */
export const plansRow = (built: Built): Row => ({
  name: "plans",
  async measure(folder) {
    const full = homeIn(join(folder, "full"));
    fill(full.plans);
    const empty = homeIn(join(folder, "empty"));
    const lines = [await listed(full.plans), await passed(full, empty)];
    for (const { plans } of [full, empty]) plans.close();
    return [...lines, ...(await served(built, full.root)), ...(await scheduled(folder))];
  },
});

type Home = { root: string; plans: Plans };

function homeIn(root: string): Home {
  const host = openLocalHost({ path: root });
  return { root, plans: openPlans({ host, home: join(root, "plans"), env: {}, cwd: root }) };
}

/** What `plan list` reads: the plans, and when the trigger of each is due. */
async function listed(plans: Plans): Promise<Line> {
  const query = "SELECT * FROM workflows ORDER BY created_at DESC, id DESC";
  const bare = () => timed(() => plans.database.rows(query));
  const whole = async () => {
    const rows = await plans.list();
    const states = triggerStates(plans);
    return rows.map((row) => nextDue(row, states.get(row.id) ?? null));
  };
  const above = async () => (await timed(whole)) - (await bare());
  const what = "a list of 10,000 plans, above the query";
  const figures = { what, unit: "ms", against: "the bare query", target: { most: 50 } };
  return line(figures, await inTurn(times, bare, above));
}

async function passed(full: Home, empty: Home): Promise<Line> {
  const pass =
    ({ plans, root }: Home) =>
    () =>
      timed(async () => {
        const host = openLocalHost({ path: root });
        const { fired } = await tick(plans, { host, env: {}, commandOf: notDue });
        if (fired.length > 0) throw new Error("something was due");
      });
  const figures = {
    ...{ what: "`tick` of 10,000 plans, nothing due", unit: "ms" },
    ...{ against: "that of no plan", target: { most: 20 } },
  };
  return line(figures, await inTurn(times, pass(empty), pass(full)));
}

const notDue = (): never => {
  throw new Error("something was due");
};

/** The idle service beside a process that wakes up once a second, in the same time. */
async function served({ command }: Built, root: string): Promise<Line[]> {
  const bare = [process.execPath, ...bunArguments, "-e", "setInterval(() => {}, 1000)"];
  const env = { PATH: process.env.PATH ?? "", HOME: root };
  const start = (argv: string[]) =>
    Bun.spawn(argv, { env, stdin: "ignore", stdout: "ignore", stderr: "ignore" });
  const both = [start(bare), start([command, "plan", "service", "run", "--root", root])];
  try {
    await Bun.sleep(3000);
    const shares: [number[], number[]] = [[], []];
    const sizes: [number[], number[]] = [[], []];
    for (let n = 0; n < windows; n += 1) {
      const before = both.map(({ pid }) => processorMs(pid));
      await Bun.sleep(windowMs);
      for (const [at, { pid }] of both.entries()) {
        shares[at as 0 | 1].push(((processorMs(pid) - (before[at] ?? 0)) / windowMs) * 100);
        sizes[at as 0 | 1].push(residentMb(pid));
      }
    }
    const of = ([bareOnes, ours]: [number[], number[]]): [Sample, Sample] => [
      ...([sampleOf(bareOnes), sampleOf(ours)] as const),
    ];
    const against = "an idle process";
    const idle = "the idle service with 10,000 plans";
    return [
      line({ what: idle, unit: "% of a core", against, target: { most: 1 } }, of(shares)),
      line({ what: `${idle}: memory`, unit: "MB", against, target: { most: 100 } }, of(sizes)),
    ];
  } finally {
    for (const one of both) one.kill();
    await Promise.all(both.map(({ exited }) => exited));
  }
}

/** The processor time that the threads of a process have had, as Linux counts it: in nanoseconds. */
function processorMs(pid: number): number {
  const tasks = `/proc/${pid}/task`;
  const ofThreads = readdirSync(tasks).map((task) => {
    const text = readFileSync(`${tasks}/${task}/schedstat`, "utf8");
    return Number(text.split(" ")[0]);
  });
  return ofThreads.reduce((sum, ns) => sum + ns, 0) / 1e6;
}

const residentMb = (pid: number): number =>
  (Number(readFileSync(`/proc/${pid}/statm`, "utf8").split(" ")[1]) * 4096) / 1024 ** 2;

/** From the commit of a step's end until the next step is yielded to be committed. */
async function scheduled(folder: string): Promise<Line[]> {
  const store = await makeStore(folder);
  const shapes = {
    "in a chain": planOf((at) => (at === 0 ? [] : [`s${at - 1}`])),
    "none of which depends on another": planOf(() => []),
  };
  const lines: Line[] = [];
  for (const [name, bundle] of Object.entries(shapes)) {
    const [bare, ours] = [byHand, bundle].map((one) => {
      const gaps: number[] = [];
      const engine = engineOf(store, measured(one, gaps));
      return async () => {
        gaps.length = 0;
        await engine.run({}, "step");
        return sampleOf(gaps).median;
      };
    });
    if (!bare || !ours) throw new Error("two are compared");
    await inTurn(2, bare, ours);
    const what = `the next of ${steps} steps ${name}`;
    const figures = { what, unit: "ms", against: "the next of `durable`", target: { most: 1 } };
    lines.push(line(figures, await inTurn(threads, bare, ours)));
  }
  return lines;
}

/** A bundle that notes how long it takes to the next record behind the end of a step. */
function measured({ descriptor, run }: Bundle, gaps: number[]): Bundle {
  return {
    descriptor,
    run: Object.assign(async function* (...given: Parameters<typeof run>) {
      const inner = run(...given);
      let answer: RoleOutput | undefined;
      for (let isEnd = false; ; ) {
        const asked = performance.now();
        const { done, value } = await inner.next(answer);
        if (done) return value;
        if (isEnd && value.meta.event !== "succeeded") gaps.push(performance.now() - asked);
        isEnd = value.meta.event !== "started";
        answer = yield value;
      }
    }, run),
  };
}

const byHand: Bundle = {
  descriptor: { description: "by hand", roles: { s0: { description: "", schema: true } } },
  run: durable(async function* (step) {
    for (let at = 0; at < steps; at += 1) yield* step(`s${at}`, () => "done");
    return { returnCode: 0, summary: "" };
  }),
};

const policy = { on_step_failure: "stop", max_retries: 0, retry_delay_ms: 0 } as const;

const planOf = (dependsOn: (at: number) => string[]): Bundle =>
  planBundle(
    {
      ...{ name: "A plan", description: "Do it.", trigger: { type: "manual" } },
      failure_policy: policy,
      steps: Array.from({ length: steps }, (_, at) => ({
        ...{ id: `s${at}`, description: "Do it.", agent: "claude", depends_on: dependsOn(at) },
        inputs: Object.fromEntries(dependsOn(at).map((id) => [id, `$steps.${id}.output`])),
      })),
    },
    { agent: async () => ({ output: "done" }) },
  );

/** Plans that are all active, half of them with slots and half with checks, the next of each in some hours. */
function fill(plans: Plans): void {
  const { database } = plans;
  const poll = {
    type: "poll",
    interval_seconds: 86_400,
    check_script: "ls",
    diff_mode: "new_items",
  };
  const cron = { type: "cron", expression: "0 9 * * 1-5", timezone: "Europe/Berlin" };
  const now = new Date().toISOString();
  const next = new Date(Date.now() + 12 * 3_600_000).toISOString();
  database.atOnce(() => {
    for (let n = 0; n < count; n += 1) {
      const isCron = n % 2 === 0;
      void plans.create(planWithId(`wf_${n}`, (isCron ? cron : poll) as Plan["trigger"]));
      database.run(
        "INSERT INTO trigger_state (workflow_id, last_check_at, last_result) VALUES (?, ?, ?)",
        ...[`wf_${n}`, now, isCron ? next : "one\n"],
      );
    }
    database.run("UPDATE workflows SET phase = 'active'");
  });
}

type Plan = Parameters<Plans["create"]>[0];
const at = "2026-01-01T00:00:00.000Z";

const planWithId = (id: string, trigger: Plan["trigger"]): Plan => ({
  ...{ schema_version: "1.0", id, phase: "awaiting_confirmation", created_at: at, updated_at: at },
  name: "Failing builds",
  description: "Which of my repositories have failing builds?",
  trigger,
  steps: ["list", "build", "report"].map((step, n, all) => ({
    ...{ id: step, description: `Do ${step}.`, agent: "claude", inputs: {} },
    depends_on: all.slice(Math.max(0, n - 1), n),
  })),
  failure_policy: { on_step_failure: "stop", max_retries: 1, retry_delay_ms: 5000 },
  metadata: { owner: { channel: "tui" }, cwd: "/home/me/projects" },
});
