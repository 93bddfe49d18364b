import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ConfigError } from "../src/entry/index.ts";
import {
  checkedMounts,
  type MountAllowlist,
  mayWriteProject,
  readAllowlist,
} from "../src/mount/mount.ts";

let top = "";
let root = "";
beforeEach(() => {
  top = realpathSync(mkdtempSync(join(tmpdir(), "uncaged-mounts-")));
  root = join(top, "projects");
  for (const folder of ["site", "site/.AWS/x", "my.environment", "a/b/Credentials/c"]) {
    mkdirSync(join(root, folder), { recursive: true });
  }
  mkdirSync(join(top, "projects-old"));
});
afterEach(() => rmSync(top, { recursive: true, force: true }));

const allowlist = (more: Partial<MountAllowlist> = {}): MountAllowlist => ({
  allowedRoots: [{ path: "~/projects", allowReadWrite: true }],
  blockedPatterns: [".ssh", ".aws", ".env", "credentials"],
  nonMainReadOnly: false,
  ...more,
});
const rules = (more: Partial<MountAllowlist> = {}, cwd = join(root, "site")) => ({
  allowlist: allowlist(more),
  home: top,
  cwd,
});
const mounted = (hostPath: unknown, more = {}, given = rules()) =>
  checkedMounts([{ hostPath: hostPath as string, ...more }], given);

test("a folder below a root is mounted read-only by its real path", () => {
  const site = join(root, "site");
  expect(mounted("~/projects/a/../site/")).toEqual([
    { hostPath: site, containerPath: `/workspace/mounts${site}`, readonly: true },
  ]);
  expect(mounted("~/projects/my.environment")[0]?.hostPath).toBe(join(root, "my.environment"));
  expect(mounted("~/projects", { containerPath: "all", readonly: false })).toEqual([
    { hostPath: root, containerPath: "/workspace/mounts/all", readonly: false },
  ]);
  symlinkSync(root, join(top, "link"));
  expect(mounted("~/link/site")[0]?.hostPath).toBe(site);
});

describe("a mount is refused", () => {
  test.each([
    ["outside of the roots", "~/"],
    ["with .. that leads outside", "~/projects/.."],
    ["of a folder whose name only begins like a root", "~/projects-old"],
    ["with a blocked name, in any case", "~/projects/site/.AWS"],
    ["with a blocked name at any depth", "~/projects/a/b/Credentials/c"],
    ["by a relative path", "projects/site"],
    ["of everything", "/"],
    ["of nothing", ""],
    ["of a missing folder", "~/projects/none"],
    ["of a value that is not a path", null],
    ["with a zero byte", "/tmp\0"],
  ])("%s", (_, path) => {
    expect(() => mounted(path)).toThrow(ConfigError);
  });

  test("through a link that leads outside, or to a blocked name", () => {
    mkdirSync(join(top, ".ssh"));
    symlinkSync(join(top, ".ssh"), join(root, "keys"));
    symlinkSync(top, join(root, "up"));
    symlinkSync(join(root, "site/.AWS/x"), join(root, "fine"));
    for (const name of ["keys", "up", "up/projects-old", "fine"]) {
      expect(() => mounted(join(root, name))).toThrow(ConfigError);
    }
  });

  test("that is not an object", () => {
    for (const mount of [null, 1, "/tmp", {}, []]) {
      expect(() => checkedMounts([mount as never], rules())).toThrow(ConfigError);
    }
  });

  test("for a file and a pipe", () => {
    writeFileSync(join(root, "file"), "");
    execFileSync("mkfifo", [join(root, "pipe")]);
    for (const name of ["file", "pipe"]) {
      expect(() => mounted(join(root, name))).toThrow(/not a directory/);
    }
  });

  test("at a path outside the mounts, or at the path of another mount", () => {
    const site = join(root, "site");
    for (const containerPath of [
      "../x",
      "a/../../../etc",
      "/",
      "",
      "/workspace/mounts",
      "a\0",
      1,
    ]) {
      expect(() => mounted(site, { containerPath })).toThrow(ConfigError);
    }
    expect(mounted(site, { containerPath: "/etc" })[0]?.containerPath).toBe(
      "/workspace/mounts/etc",
    );
    const twice = [site, root].map((hostPath) => ({ hostPath, containerPath: "same" }));
    expect(() => checkedMounts(twice, rules())).toThrow(/another mount has the path/);
  });
});

test("a mount is writable only if its root allows it, and with nonMainReadOnly only for the main workflow", () => {
  const writing = { readonly: false };
  const reading = { allowedRoots: [{ path: root, allowReadWrite: false }] };
  expect(() => mounted(root, writing, rules(reading))).toThrow(/must be read-only/);
  const main = { nonMainReadOnly: true };
  expect(() => mounted(root, writing, rules(main))).toThrow(/must be read-only/);
  expect(mounted(root, writing, rules(main, root))).toHaveLength(1);
  expect(mayWriteProject(rules())).toBe(true);
  expect(mayWriteProject(rules(reading))).toBe(false);
  expect(mayWriteProject(rules(main))).toBe(false);
  expect(mayWriteProject(rules(main, root))).toBe(true);
  expect(mayWriteProject(rules({}, join(top, "projects-old")))).toBe(false);
});

test("a folder that contains the home directory is never writable", () => {
  const allowedRoots = [{ path: join(top, ".."), allowReadWrite: true }];
  for (const path of [top, join(top, "..")]) {
    expect(mayWriteProject(rules({ allowedRoots }, path))).toBe(false);
    const given = rules({ allowedRoots });
    expect(mounted(path, {}, given)).toHaveLength(1);
    expect(() => mounted(path, { readonly: false }, given)).toThrow("contains your home directory");
  }
  expect(mayWriteProject(rules({ allowedRoots }))).toBe(true);
});

test("a missing root allows nothing", () => {
  const none = rules({ allowedRoots: [{ path: join(top, "none"), allowReadWrite: true }] });
  expect(() => mounted(join(root, "site"), {}, none)).toThrow(/outside the allowed roots/);
});

test("the allowlist is created on first use, and its problems are named", () => {
  const home = join(top, "plans");
  const first = readAllowlist(home);
  expect(first.allowedRoots.map(({ path }) => path)).toEqual(["~/projects", "/tmp"]);
  expect(first.blockedPatterns).toContain("private_key");
  const path = join(home, "mount-allowlist.json");
  expect(JSON.parse(readFileSync(path, "utf8"))).toEqual(first);
  const wrong = [
    ...["", "[]", "{}", "null"],
    JSON.stringify(allowlist({ allowedRoots: [{ path: "projects", allowReadWrite: true }] })),
    JSON.stringify(allowlist({ allowedRoots: [{ path: "/", allowReadWrite: true }] })),
    JSON.stringify({ ...allowlist(), blockedPatterns: [1] }),
  ];
  for (const text of wrong) {
    writeFileSync(path, text);
    expect(() => readAllowlist(home)).toThrow(ConfigError);
    expect(readFileSync(path, "utf8")).toBe(text);
  }
  expect(existsSync(path)).toBe(true);
});
