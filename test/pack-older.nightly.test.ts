import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { top } from "./source.ts";

/*
 * Runs an older program on a storage root of this version. The program reads known files, refuses other files with one
 * line, and changes nothing. The older program is built from the git history, if the clone has the history.
 */
setDefaultTimeout(180_000);

const older = "49a60e1d";
const folder = mkdtempSync(join(tmpdir(), "uncaged-older-"));
const root = join(folder, "root");
const source = join(folder, "source");
const program = (of: string) => join(of, "packages/cli-workflow/bin/uncaged-workflow");

afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }));

function perform(argv: string[], cwd: string) {
  const env = {
    ...{ PATH: process.env.PATH, HOME: folder, TMPDIR: process.env.TMPDIR },
    UNCAGED_WORKFLOW_STORAGE_ROOT: root,
    UNCAGED_WORKFLOW_IDLE_MS: "100",
  };
  const done = Bun.spawnSync(argv, { cwd, env, stdin: "ignore" });
  const [stdout, stderr] = [done.stdout.toString(), done.stderr.toString()];
  return { code: done.exitCode, stdout, stderr };
}

/** Builds the older program. Returns null, or the reason why it can't be built here. */
function whyMissing(): string | null {
  const archive = join(folder, "older.tar");
  const archived = perform(["git", "archive", "--output", archive, older], top);
  if (archived.code !== 0) return `commit ${older} is not in this clone`;
  mkdirSync(source);
  passes(["tar", "-xf", archive], source);
  const install = [process.execPath, "install", "--frozen-lockfile", "--ignore-scripts"];
  return perform(install, source).code === 0 ? null : "its packages can't be fetched";
}

const passes = (argv: string[], cwd: string) =>
  expect(perform(argv, cwd)).toMatchObject({ code: 0 });

/** Returns the registry and all files of threads except debug logs. */
function stored(): Record<string, string> {
  const names = readdirSync(root, { recursive: true, encoding: "utf8" }).filter(
    (name) =>
      /^(logs\/.*(?<!\.info\.jsonl)|workflow\.yaml)$/.test(name) &&
      statSync(join(root, name)).isFile(),
  );
  return Object.fromEntries(
    names.map((name) => [name, readFileSync(join(root, name), "latin1")] as const),
  );
}

const missing = whyMissing();
const why = missing === null ? "" : `: ${missing}`;

beforeAll(() => {
  if (missing !== null) return;
  const work = join(folder, "work");
  const added = perform(
    [program(top), "new", work, "--name", "team", "--template", "agents"],
    folder,
  );
  expect(added).toMatchObject({ code: 0 });
  passes([program(top), "add"], work);
  expect(perform([program(top), "run", "team", "--prompt", "x", "--wait"], work).code).toBe(6);
  writeFileSync(
    join(folder, "greet.ts"),
    `export const descriptor = { description: "Greets.", roles: {} };
    export async function* run() { return { returnCode: 0, summary: "greeted" }; }`,
  );
});

test.skipIf(missing !== null)(
  `an older program reads a newer storage root and reports what it can't do${why}`,
  () => {
    const before = stored();
    const old = (...words: string[]) => perform([program(source), ...words], folder);
    for (const words of [["list"], ["threads"], ["thread", "@last"], ["show", "team"]]) {
      expect(old(...words)).toMatchObject({
        code: 0,
        stderr: expect.not.stringContaining("    at "),
      });
    }
    const refused = [
      ["resume", "@last", "--approve"],
      ["pause", "@last"],
      ["kill", "@last"],
      ["retry", "@last"],
      ["add", "greet", "greet.ts"],
      ["remove", "team"],
      ["rollback", "team"],
      ["gc"],
    ];
    for (const words of refused) {
      const { code, stdout, stderr } = old(...words);
      expect({ words, code, stdout }).toEqual({ words, code: expect.any(Number), stdout: "" });
      expect(code).toBeGreaterThan(0);
      expect(stderr).toMatch(/^error: [^\n]+\n$/);
    }
    expect(stored()).toEqual(before);
    const resumed = ["resume", "@last", "--approve", "--wait"];
    expect(perform([program(top), ...resumed], folder)).toMatchObject({ code: 0 });
  },
);
