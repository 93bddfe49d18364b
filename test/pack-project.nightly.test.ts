import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pack } from "../scripts/pack.ts";
import { npmInstall } from "./packed.ts";

/*
 * Creates a project like a new user, with only Node and npm: installs the tarballs into an empty folder and runs each
 * line exactly as printed. Instead of the published packages, npm gets copies of the tarballs.
 */
const folder = mkdtempSync(join(tmpdir(), "uncaged project "));
const bin = join(folder, "bin");
const home = join(folder, "home");
const work = join(folder, "work");
const environment = { PATH: bin, HOME: home, UNCAGED_WORKFLOW_IDLE_MS: "100" };
/** Environment in which npx and npm use no network. */
const offline = { npm_config_offline: "true", npm_config_update_notifier: "false" };

function sh(line: string, cwd: string, env: Record<string, string | undefined> = {}) {
  const options = { cwd, env: { ...environment, ...offline, ...env }, stdin: "ignore" } as const;
  const done = Bun.spawnSync([join(bin, "sh"), "-c", line], options);
  const [stdout, stderr] = [done.stdout.toString(), done.stderr.toString()];
  return { code: done.exitCode, stdout, stderr };
}

const nextOf = (stderr: string): string => /^next: (.*)$/m.exec(stderr)?.[1] ?? "";

setDefaultTimeout(180_000);

beforeAll(async () => {
  const tarballs = Object.values(await pack());
  for (const path of [bin, work]) mkdirSync(path);
  for (const name of ["node", "npm", "npx", "sh", "readlink"]) {
    symlinkSync(Bun.which(name) ?? name, join(bin, name));
  }
  npmInstall(work, home, tarballs);
}, 300_000);

afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }));

const added = /^([0-9A-HJKMNP-TV-Z]{13}) {2}demo\n/;

test("npx finds the command by its name, which is also the name of a package", () => {
  const alias = join(work, "node_modules/uncaged-workflow");
  const manifest = JSON.parse(readFileSync(join(alias, "package.json"), "utf8")) as object;
  expect(manifest).toMatchObject({
    name: "uncaged-workflow",
    dependencies: { "@uncaged/cli-workflow": expect.stringMatching(/^\d/) },
  });
  const version = { code: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/), stderr: "" };
  expect(sh("npx uncaged-workflow --version", work)).toEqual(version);
  expect(sh("node_modules/uncaged-workflow/bin/uncaged-workflow --version", work)).toEqual(version);
});

test("the commands printed by new work as printed, and a clone of the project builds the same", () => {
  const made = sh("npx uncaged-workflow new demo", work);
  expect(made.code).toBe(0);
  const next = nextOf(made.stderr);
  expect(next).toStartWith("cd demo && npx uncaged-workflow add && ");
  const { code, stdout } = sh(next, work);
  expect(code).toBe(0);
  expect(stdout).toContain("completed: ");
  const [, hash] = added.exec(stdout) ?? [];
  expect(hash).toBeString();
  const demo = join(work, "demo");
  const manifest = JSON.parse(readFileSync(join(demo, "package.json"), "utf8")) as object;
  // A program that was installed from tarballs writes the paths of the tarballs into the manifest.
  const ofTarball = expect.stringMatching(/^file:.*\.tgz$/);
  expect(manifest).toMatchObject({
    devDependencies: {
      "@uncaged/workflow": ofTarball,
      typescript: expect.stringMatching(/^\^\d/),
      "uncaged-workflow": ofTarball,
    },
  });
  // Simulates a git clone followed by `npm install`.
  const clone = join(folder, "another home/clone");
  const isTracked = (path: string) => !/\/(node_modules|\.uncaged)$/.test(path);
  cpSync(demo, clone, { recursive: true, filter: isTracked });
  const copy = { recursive: true, verbatimSymlinks: true };
  cpSync(join(work, "node_modules"), join(clone, "node_modules"), copy);
  expect(sh("npx uncaged-workflow list --json", clone).stdout).toBe("[]\n");
  expect(sh("npx uncaged-workflow sync", clone, { CI: "1" }).code).toBe(1);
  expect(added.exec(sh("npx uncaged-workflow add", clone).stdout)?.[1]).toBe(hash ?? "");
  expect(sh("npx uncaged-workflow sync", clone, { CI: "1" }).code).toBe(0);
  const run = "npx uncaged-workflow run demo --prompt 'apples, pears' --follow";
  expect(sh(run, clone)).toMatchObject({ code: 0, stdout: expect.stringContaining("completed: ") });
});

test("a step workflow can be created, added and run in the same way", () => {
  const { stderr } = sh("npx uncaged-workflow new flow --template steps", work);
  const { code, stdout } = sh(nextOf(stderr), work);
  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining("completed: ") });
});

test("a team of agents can be created, added, run and answered in the same way", () => {
  const { stderr } = sh("npx uncaged-workflow new team --template agents", work);
  const { code, stdout } = sh(nextOf(stderr), work);
  expect({ code, stdout }).toEqual({ code: 6, stdout: expect.stringContaining("waiting: ") });
  const answered = sh(
    "npx uncaged-workflow resume @last --input true --follow",
    join(work, "team"),
  );
  expect(answered).toMatchObject({ code: 0, stdout: expect.stringContaining("completed: ") });
});

test("each package has its own README", () => {
  const own = ["agents", "graph", "plan", "steps"].map((one) => `workflow-${one}`);
  const names = ["workflow", "cli-workflow", ...own];
  for (const name of [...names.map((one) => `@uncaged/${one}`), "uncaged-workflow"]) {
    const text = readFileSync(join(work, "node_modules", name, "README.md"), "utf8");
    expect(text).toStartWith(`# ${name}\n`);
  }
});
