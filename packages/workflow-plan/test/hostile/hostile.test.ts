import { expect, setDefaultTimeout, test } from "bun:test";
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { isWhole, some } from "../../../workflow/test/fixtures/cases.ts";
import { until } from "../../../workflow/test/fixtures/until.ts";
import type { PlanMetadata, PlanStep } from "../../src/entry/index.ts";
import { canaryText } from "./canaries.ts";
import { differences } from "./differences.ts";
import { ownedBy } from "./owned.ts";
import { type Attempt, hostileAttempts, idOf, type Report, reportsIn } from "./reports.ts";
import { missing, users } from "./users.ts";
import { type PlanView, Victim } from "./victim.ts";

/*
 * The hostile agent: a scripted `claude` that tries to escape the sandbox of plan steps. `npm test` tries one attempt
 * of each kind as an ordinary user, `npm run test:all` all of them, also as root. The test compares the agent's reports
 * with the state outside. The state outside decides.
 */
setDefaultTimeout(1_800_000);
const longestMs = 900_000;

const all = hostileAttempts.filter(({ needs }) => needs !== "flip" && needs !== "cluster");
const firstOfKind = (attempt: Attempt) => all.find(({ kind }) => kind === attempt.kind) === attempt;
const { HOSTILE_ATTEMPTS, HOSTILE_REPORT } = process.env;
const tried = all.filter((attempt) =>
  HOSTILE_ATTEMPTS === undefined
    ? isWhole || firstOfKind(attempt)
    : new RegExp(HOSTILE_ATTEMPTS).test(attempt.name),
);

type PlanOfSteps = {
  steps: PlanStep[];
  attempts: Attempt[];
  cwd?: string;
  metadata?: PlanMetadata;
  retries?: number;
};

/** Returns the plans that try the attempts. Attempts that may disturb each other are in separate plans. */
function plansOf(victim: Victim): PlanOfSteps[] {
  const of = (needs: Attempt["needs"]) => tried.filter((attempt) => attempt.needs === needs);
  const each = (attempts: Attempt[], more: object = {}) =>
    attempts.map(({ name }) => victim.step(idOf(name), [name], more));
  const kinds = [...new Set(of(null).map(({ kind }) => kind))];
  const byKind = kinds.map((kind) => {
    const names = of(null)
      .filter((one) => one.kind === kind)
      .map(({ name }) => name);
    return victim.step(kind, names);
  });
  const small = {
    sandbox: { mode: "bubblewrap", memory: 1024 ** 3, processes: 1000, disk: 5 * 1024 ** 3 },
  } as const;
  const plans: PlanOfSteps[] = [
    { steps: byKind, attempts: of(null) },
    { steps: each(of("retry"), { onRetry: true }), attempts: of("retry"), retries: 1 },
    // These attempts stop all processes that could end the step, so only the timeout ends it.
    { steps: each(of("end")), attempts: of("end"), metadata: { container: { timeout: 15_000 } } },
    { steps: each(of("small")), attempts: of("small"), metadata: small },
    ...of("project").map((attempt): PlanOfSteps => {
      const project = victim.newProject(join(victim.projects, `site-${idOf(attempt.name)}`));
      return { steps: each([attempt], { project }), attempts: [attempt], cwd: project };
    }),
  ];
  return plans.filter(({ steps }) => steps.length > 0);
}

for (const user of some(users, 0, users.length - 1)) {
  test.skipIf(missing !== "")(
    `none of ${tried.length} attempts of a hostile agent escapes, as ${user.name}${missing}`,
    async () => {
      const victim = new Victim(user, ({ home }) => join(home, ".uncaged"));
      try {
        await victim.open({ server: true });
        const [first = "", waiting = ""] = await victim.create([
          { steps: [victim.step("nothing", [])] },
          { steps: [victim.step("nothing", [])] },
        ]);
        expect((await victim.ran(first)).phase).toBe("completed");
        victim.waiting = waiting;
        victim.keepLogs();
        const before = victim.kept();

        const plans = plansOf(victim);
        const ids = await victim.create(plans);
        const reports: Report[] = [];
        const escapes: string[] = [];
        const escaped = (what: string) => (found: string[]) =>
          escapes.push(...found.map((one) => `${what}: ${one.slice(0, 300)}`));
        const tryPlan = async (one: PlanOfSteps, at: number): Promise<void> => {
          const view = await victim.ran(ids[at] ?? "", longestMs);
          reports.push(...reportsIn(view, one.attempts));
          const records = await victim.records(view);
          const starts = records.filter(({ meta }) => meta.event === "started");
          escaped("ran without the sandbox")(
            starts.filter(({ meta }) => meta.sandbox !== "bubblewrap").map(({ role }) => role),
          );
          if (one.cwd !== undefined) {
            escaped(one.attempts[0]?.name ?? "")(await ownedBy(victim, one.cwd));
          }
          if (isWhole || one.attempts.some(({ kind }) => kind === "output" || kind === "report"))
            escaped("terminal")(await rawIn(victim, view));
        };
        if (isWhole) for (const [at, one] of plans.entries()) await tryPlan(one, at);
        else await Promise.all(plans.map(tryPlan));
        await until(
          () => victim.left().length === 0,
          () => `processes are left: ${victim.left().join("\n")}`,
        ).catch((error: Error) => escaped("daemon")([error.message]));

        const names = new Set(reports.map(({ name }) => name));
        expect(tried.filter(({ name }) => !names.has(name))).toEqual([]);
        escaped("reported")(
          reports
            .filter(({ outcome }) => outcome === "escaped" || outcome === "lost")
            .map(({ detail, name, outcome }) => `${outcome} ${name}: ${detail}`),
        );
        escaped("reached")([...new Set(victim.canaries.hits)]);
        escaped("changed")(differences(before, victim.kept()));
        escaped("has a secret")(victim.leaks());
        escaped("lost")(await lostOf(victim, waiting));
        if (HOSTILE_REPORT !== undefined) {
          const lines = reports.map((one) => JSON.stringify({ user: user.name, ...one }));
          appendFileSync(HOSTILE_REPORT, `${lines.join("\n")}\n`);
          appendFileSync(
            HOSTILE_REPORT,
            escapes.map((one) => `ESCAPE ${user.name}: ${one}\n`).join(""),
          );
        }
        expect(escapes).toEqual([]);
      } finally {
        await victim.close();
      }
    },
  );
}

/** Returns terminal control sequences in the command line's output about a run. */
async function rawIn(victim: Victim, { id, runs }: PlanView): Promise<string[]> {
  const thread = runs[0]?.id.replace(/^run_/, "") ?? "";
  const shown = await Promise.all([
    victim.run(["plan", "show", id]),
    victim.run(["thread", thread]),
    victim.run(["logs", thread]),
    victim.run(["follow", thread]),
  ]);
  return shown.flatMap(({ stderr, stdout }) =>
    // eslint-disable-next-line no-misleading-character-class
    /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/u.test(stdout + stderr)
      ? [
          `${id}: ${JSON.stringify((stdout + stderr).match(/.{0,40}[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069].{0,40}/u)?.[0])}`,
        ]
      : [],
  );
}

/** Returns the parts of the initial state that are lost. */
async function lostOf(victim: Victim, waiting: string): Promise<string[]> {
  const lost: string[] = [];
  const process = await victim.does(["kill", "-0", String(victim.bystander)]);
  if (process.code !== 0) lost.push("a process outside was ended");
  const answer = await fetch(`http://127.0.0.1:${victim.server}/`).catch(() => null);
  if (answer === null) lost.push("the server does not answer");
  const plan = await victim.json<PlanView>(["plan", "show", waiting]);
  if (plan.phase !== "awaiting_confirmation") lost.push(`another plan is ${plan.phase}`);
  const verified = await victim.run(["verify"]);
  if (verified.code !== 0) lost.push(`verify: ${verified.stdout}${verified.stderr}`);
  const { stdout } = await victim.run(["list"]);
  if (stdout.includes("hostile")) lost.push(`a bundle was added: ${stdout}`);
  if (stdout.includes(canaryText)) lost.push("the canary's answer is shown");
  return lost;
}
