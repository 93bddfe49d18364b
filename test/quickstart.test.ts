import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import manifest from "../package.json";
import { makeRepository } from "./repository.ts";
import { top } from "./source.ts";

const folder = mkdtempSync(join(tmpdir(), "uncaged quickstart "));
const home = join(folder, "home");
const root = join(folder, "root");
mkdirSync(home);

afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }));

const env = { ...process.env, HOME: home, INIT_CWD: folder, UNCAGED_WORKFLOW_IDLE_MS: "200" };

type Done = { code: number; stdout: string; stderr: string };

function perform(argv: string[], cwd = folder): Done {
  const done = Bun.spawnSync(argv, { cwd, env, stdin: "ignore" });
  const [stdout, stderr] = [done.stdout.toString(), done.stderr.toString()];
  return { code: done.exitCode, stdout, stderr };
}

const quickstart = (...args: string[]): Done =>
  perform([process.execPath, join(top, "scripts/quickstart.ts"), ...args]);

function repository(name: string, commits: Record<string, string>[]): string {
  makeRepository(join(folder, name), commits);
  return join(folder, name);
}

describe("the quickstart", () => {
  /** Commands that the last run of the quickstart suggested. */
  let printed: string[] = [];

  test("does the main task on a repository, twice in a row", () => {
    repository("some repo", [{ "a.ts": "let a;\n" }, { "a.ts": "let b;\n", "b.ts": "let c;\n" }]);
    for (const _ of ["first", "second"]) {
      const { code, stdout, stderr } = quickstart("some repo", "--root", root);
      printed = stdout.slice(stdout.indexOf("Try next")).split("\n").slice(1, 5);
      expect({ code, stderr }).toEqual({ code: 0, stderr: expect.not.stringContaining("error") });
      expect(stdout).toContain("read 2 of 2 files");
      expect(stdout).toContain("kept  read 2 of 2 files");
      expect(stdout).toContain("historian");
      expect(stdout).toMatch(/review is now at \w{13}; it was at \w{13}/);
      expect(stdout).not.toContain("\u001b");
      expect(stdout.split("\n").length).toBeLessThan(70);
    }
    expect(existsSync(join(home, ".uncaged"))).toBe(false);
  }, 180_000);

  test("prints commands that work as printed", () => {
    const [serve, ...others] = printed;
    // Does not run `serve`, which runs until a signal. The server's own tests cover it.
    expect(serve).toMatch(/uncaged-workflow serve --open --root /);
    const [read, verify, begin] = others.map((line) => perform(["sh", "-c", line]));
    expect(read).toMatchObject({ code: 0, stdout: expect.stringContaining("# Review of commit") });
    expect(verify).toMatchObject({ code: 0 });
    expect(begin).toMatchObject({ code: 0 });
    expect(existsSync(join(folder, "my-workflow"))).toBe(true);
  }, 180_000);

  test("refuses a path outside of a repository in one line", () => {
    mkdirSync(join(folder, "plain"));
    for (const args of [["plain"], ["nowhere"], ["a", "b"], ["--odd"]]) {
      const { code, stdout, stderr } = quickstart(...args, "--root", root);
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
      expect(stderr).toMatch(/^error: .*\n$/);
    }
  });

  test("reviews a copy of the sources in a checkout without history", () => {
    const copy = join(folder, "tarball");
    const parts = ["scripts", "examples", "packages", "node_modules", "package.json"];
    mkdirSync(copy);
    for (const part of parts) perform(["ln", "-s", join(top, part), join(copy, part)]);
    // Copy the script, because a link would resolve to the checkout.
    perform(["sh", "-c", `rm scripts && cp -R ${join(top, "scripts")} scripts`], copy);
    const script = join(copy, "scripts/quickstart.ts");
    const { code, stdout } = perform([process.execPath, script, "--root", root]);
    expect(stdout).toContain("This folder is not a git repository");
    expect(stdout).toContain("completed: ");
    expect(code).toBe(0);
  }, 180_000);

  test("is the script behind npm run quickstart", () => {
    expect(manifest.scripts.quickstart).toEndWith("scripts/quickstart.ts");
  });
});
