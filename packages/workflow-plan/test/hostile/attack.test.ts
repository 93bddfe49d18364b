import { expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { some } from "../../../workflow/test/fixtures/cases.ts";
import { until } from "../../../workflow/test/fixtures/until.ts";
import type { PlanMetadata } from "../../src/entry/index.ts";
import { differences } from "./differences.ts";
import { ownedBy } from "./owned.ts";
import { hostileAttempts, idOf, reportsIn } from "./reports.ts";
import { missing, type User, users } from "./users.ts";
import { type PlanView, Victim } from "./victim.ts";

/* Attacks that escaped earlier sandboxes, unchanged. */
setDefaultTimeout(600_000);

async function withVictim(
  user: User,
  act: (victim: Victim) => Promise<void>,
  rootIn = ({ home }: { home: string; project: string }) => join(home, ".uncaged"),
): Promise<void> {
  const victim = new Victim(user, rootIn);
  try {
    await victim.open();
    await act(victim);
  } finally {
    await victim.close();
  }
}

const named = (...names: string[]) => {
  const found = hostileAttempts.filter(({ name }) => names.includes(name));
  expect(found.map(({ name }) => name).sort()).toEqual([...names].sort());
  return found;
};

const left = missing;
let attacks = 0;
/**
 * Tests as each user in `npm run test:all`, else as alternating users.
 */
const inSandbox = (name: string, act: (user: User) => Promise<void>) => {
  for (const user of some(users, users.length, attacks % users.length))
    test.skipIf(left !== "")(`${name}, as ${user.name}${left}`, () => act(user));
  attacks += 1;
};

inSandbox("a retried step can't make the host write through a link or a pipe", (user) =>
  withVictim(user, async (victim) => {
    const attempts = named(
      ...[
        "link: a link in place of the login file",
        "link: a link to a new file in place of the login file",
      ],
      ...["link: a linked folder of the login file", "link: a pipe in place of the login file"],
    );
    const steps = attempts.map(({ name }) => victim.step(idOf(name), [name], { onRetry: true }));
    const [id = ""] = await victim.create([{ steps, retries: 1 }]);
    const before = victim.kept();
    const view = await victim.ran(id);
    expect(differences(before, victim.kept())).toEqual([]);
    const tried = (await victim.records(view)).filter(
      ({ meta }) => meta.event === "attempt_failed",
    );
    expect(tried.map(({ role }) => role).sort()).toEqual(steps.map((one) => one.id).sort());
    expect(view.runs[0]?.steps.map(({ status }) => status)).not.toContain("running");
  }),
);

/** A folder of a plan that another step swaps for a link to `private`. */
type Flip = {
  what: string;
  flipped: string;
  look: (victim: Victim) => { cwd: string; metadata?: PlanMetadata };
};
const flips: Flip[] = [
  {
    what: "a mount",
    flipped: "data",
    look: ({ project }) => ({ cwd: project }),
  },
  {
    what: "the project's folder",
    flipped: "other",
    look: ({ projects }) => ({ cwd: join(projects, "other") }),
  },
  {
    what: "a folder above the project",
    flipped: "group",
    look: ({ projects }) => ({ cwd: join(projects, "group/inner") }),
  },
];

for (const { flipped, look, what } of some(flips)) {
  inSandbox(`a step that swaps ${what} for a link reveals nothing to parallel steps`, (user) =>
    withVictim(user, async (victim) => {
      for (const path of ["other", "group", "group/inner"])
        victim.newProject(join(victim.projects, path));
      victim.newProject(join(victim.home, "private"));
      const secrets = victim.newProject(join(victim.home, "private/inner"));
      writeFileSync(join(secrets, "kept"), victim.whole);
      const to = join(victim.home, "private");
      const names = Array.from({ length: 12 }, (_, n) => `look-${n}`);
      const looks = names.map((id) => victim.step(id, ["flip: views during the swap"]));
      const flip = victim.step("flip", ["flip: a folder swapped for a link, in a loop"], {
        flipped,
        to,
      });
      const [flipping = "", looking = ""] = await victim.create([
        { steps: [flip], cwd: victim.projects },
        { steps: looks, ...look(victim) },
      ]);
      const before = victim.kept();
      const loop = victim.ran(flipping);
      await until(() => existsSync(join(victim.projects, ".link")));
      // Retry, because the confirmation is refused while the folder is a link.
      await until(async () => {
        const { code } = await victim.run(["plan", "confirm", looking, "--agent", victim.agent]);
        return code === 0;
      });
      const view = await victim.ended(looking);
      writeFileSync(join(victim.projects, "stop"), "");
      await loop;
      const attempts = named("flip: views during the swap");
      const shown = reportsIn(view, attempts).filter(({ outcome }) => outcome === "escaped");
      expect(shown.map(({ detail }) => detail)).toEqual([]);
      expect(differences(before, victim.kept())).toEqual([]);
    }),
  );
}

const hidden = [
  ["a", "b/.uncaged"],
  ["data", ".uncaged"],
] as const;
for (const [above, rootBelow] of some(hidden)) {
  inSandbox(
    `a storage root at ${above}/${rootBelow} of the project stays hidden when it is moved`,
    (user) =>
      withVictim(
        user,
        async (victim) => {
          const moves = victim.step("move", ["flip: the folder above the storage root, moved"], {
            above,
          });
          const name = "flip: the storage root in the moved folder";
          const ids = Array.from({ length: 6 }, (_, n) => `look-${n}`);
          const looks = ids.map((id, n) => ({
            ...victim.step(id, [name], { above, rootBelow }),
            depends_on: n === 0 ? [] : [`look-${n - 1}`],
          }));
          const [id = ""] = await victim.create([
            { steps: [moves, ...looks], cwd: victim.project },
          ]);
          const confirmed = await victim.run(["plan", "confirm", id, "--agent", victim.agent]);
          expect(confirmed.code).toBe(0);
          // Retry, because the root and the plan may be missing temporarily.
          const isOver = ({ runs }: PlanView) => runs.every(({ status }) => status !== "running");
          await until(async () => {
            const { code, stdout } = await victim.run(["plan", "show", id, "--json"]);
            return code === 0 && isOver(JSON.parse(stdout) as PlanView);
          });
          const shown = reportsIn(await victim.ended(id), named(name));
          expect(shown.filter(({ outcome }) => outcome === "escaped")).toEqual([]);
        },
        ({ project }) => join(project, above, rootBelow),
      ),
  );
}

inSandbox("a step can't write settings of the kernel", (user) =>
  withVictim(user, async (victim) => {
    const attempts = named(
      ...["kernel: the program for core dumps", "kernel: the settings of the kernel"],
      ...["kernel: the settings of the kernel, by another /proc"],
    );
    const names = attempts.map(({ name }) => name);
    const [id = ""] = await victim.create([{ steps: [victim.step("kernel", names)] }]);
    const before = victim.kept();
    const reports = reportsIn(await victim.ran(id), attempts);
    expect(reports.map(({ name, outcome }) => [name, outcome])).toEqual(
      names.map((name) => [name, "refused"]),
    );
    expect(differences(before, victim.kept())).toEqual([]);
  }),
);

inSandbox(
  "files that a step writes to its project relax no settings and do not run outside",
  (user) =>
    withVictim(user, async (victim) => {
      const attempts = named(
        ...["setting: the project's plan settings", "setting: a new storage root"],
        ...["setting: environment variables of the project", "git: hooks", "git: settings"],
        "git: another repository in place of the repository",
      );
      const project = victim.newProject(join(victim.projects, "site-5"));
      // The replaced repository has a separate plan, because it loses its hooks.
      const isLast = ({ name }: { name: string }) => name.startsWith("git: another repository");
      const plans = [attempts.filter((one) => !isLast(one)), attempts.filter(isLast)].map(
        (group) => ({
          steps: group.map(({ name }) => victim.step(idOf(name), [name], { project })),
          cwd: project,
        }),
      );
      const before = victim.kept();
      const tried: string[] = [];
      for (const id of await victim.create(plans)) {
        const view = await victim.ran(id);
        tried.push(...reportsIn(view, attempts).map(({ name }) => name));
      }
      expect(tried.sort()).toEqual(attempts.map(({ name }) => name).sort());
      expect(await ownedBy(victim, project)).toEqual([]);
      expect(differences(before, victim.kept())).toEqual([]);
    }),
);
