import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isWorkflowError } from "../contract/error.ts";
import { createRoot, openRoot, rootVariable } from "./root.ts";

let folder: string;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "root-test-")));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function refusal(open: () => unknown): string | undefined {
  try {
    open();
  } catch (error) {
    if (isWorkflowError(error)) return error.code;
    throw error;
  }
}

describe("the storage root", () => {
  test("is the given path, else the variable's path, else a folder in the home folder", () => {
    const env = { [rootVariable]: join(folder, "named"), HOME: folder };
    expect(openRoot({ path: join(folder, "given"), env }) as string).toBe(join(folder, "given"));
    expect(openRoot({ env }) as string).toBe(join(folder, "named"));
    expect(openRoot({ env: { HOME: folder } }) as string).toBe(join(folder, ".uncaged/workflow"));
    expect(openRoot({ env: { HOME: folder, [rootVariable]: "" } }) as string).toContain(".uncaged");
  });

  test("may have a path that begins with ~", () => {
    const at = (env: Record<string, string>, path?: string) => openRoot({ env, path }) as string;
    expect(at({ HOME: folder }, "~/roots/a")).toBe(join(folder, "roots/a"));
    expect(at({ HOME: folder, [rootVariable]: "~/b" })).toBe(join(folder, "b"));
    expect(at({ HOME: folder }, `${folder}/~/c`)).toBe(join(folder, "~/c"));
    expect(refusal(() => at({}, "~/a"))).toBe("NO_HOME");
  });

  test("of a project comes after the path and the variable, and before the home folder", () => {
    const project = { root: join(folder, "own"), file: join(folder, "uncaged.json") };
    const env = { [rootVariable]: join(folder, "named"), HOME: folder };
    expect(openRoot({ project, env: { HOME: folder } }) as string).toBe(join(folder, "own"));
    expect(openRoot({ project, env }) as string).toBe(join(folder, "named"));
    expect(openRoot({ project, env, path: folder }) as string).toBe(folder);
  });

  test("of a project, if it is a file, is refused with the key that names it", () => {
    const root = join(folder, "file");
    writeFileSync(root, "");
    const project = { root, file: "/p/uncaged.json" };
    expect(() => openRoot({ project, env: {} })).toThrow(
      expect.objectContaining({ hint: 'set "root" in /p/uncaged.json to a folder' }),
    );
  });

  test("is created with a .gitignore that excludes it from git, unless it has files", () => {
    createRoot(openRoot({ path: join(folder, "new") }));
    expect(readFileSync(join(folder, "new/.gitignore"), "utf8")).toBe("*\n");
    mkdirSync(join(folder, "used/notes"), { recursive: true });
    createRoot(openRoot({ path: join(folder, "used") }));
    expect(existsSync(join(folder, "used/.gitignore"))).toBe(false);
  });

  test("without a home folder is a usage error", () => {
    expect(refusal(() => openRoot({ env: {} }))).toBe("NO_HOME");
  });

  test("is not created by opening it", () => {
    openRoot({ path: join(folder, "root") });
    expect(existsSync(join(folder, "root"))).toBe(false);
  });

  for (const umask of [0, 0o022, 0o077]) {
    test(`is created with folders of mode 0700 under the umask ${umask.toString(8)}`, () => {
      const before = process.umask(umask);
      try {
        createRoot(openRoot({ path: join(folder, "a/b/root") }));
      } finally {
        process.umask(before);
      }
      for (const name of ["", "bundles", "logs", "run"]) {
        expect(statSync(join(folder, "a/b/root", name)).mode & 0o777).toBe(0o700);
      }
    });
  }

  test("that is a file is refused", () => {
    writeFileSync(join(folder, "file"), "");
    expect(refusal(() => openRoot({ path: join(folder, "file") }))).toBe("ROOT_NOT_A_FOLDER");
    expect(refusal(() => openRoot({ path: join(folder, "file/below") }))).toBe("NOT_A_FOLDER");
  });

  for (const mode of [0o777, 0o720, 0o702]) {
    test(`of mode ${mode.toString(8)} is refused`, () => {
      mkdirSync(join(folder, "open"));
      chmodSync(join(folder, "open"), mode);
      expect(refusal(() => openRoot({ path: join(folder, "open") }))).toBe("ROOT_OPEN_TO_OTHERS");
    });
  }

  test("that others can write gets the chmod hint only when it is already a storage root", () => {
    const open = join(folder, "open");
    mkdirSync(open);
    chmodSync(open, 0o777);
    const hint = () => {
      try {
        openRoot({ path: open });
      } catch (error) {
        return isWorkflowError(error) ? error.hint : undefined;
      }
    };
    expect(hint()).toBe(`give a folder of its own: ${open}/uncaged`);
    mkdirSync(join(open, "run"));
    expect(hint()).toBe(`run: chmod 700 ${open}`);
  });

  test.if(process.geteuid?.() === 0)("of another user is refused", () => {
    mkdirSync(join(folder, "theirs"), { mode: 0o700 });
    chownSync(join(folder, "theirs"), 12_345, 12_345);
    expect(refusal(() => openRoot({ path: join(folder, "theirs") }))).toBe("ROOT_NOT_OURS");
  });

  test("may be a symbolic link, and its target is checked", () => {
    mkdirSync(join(folder, "real"), { mode: 0o700 });
    symlinkSync(join(folder, "real"), join(folder, "link"));
    createRoot(openRoot({ path: join(folder, "link") }));
    expect(existsSync(join(folder, "real/logs"))).toBe(true);
    chmodSync(join(folder, "real"), 0o777);
    expect(refusal(() => openRoot({ path: join(folder, "link") }))).toBe("ROOT_OPEN_TO_OTHERS");
  });

  for (const name of ["a?b", "a\\b", "x/".repeat(2100)]) {
    test(`with a path that Bun can't load from is refused before any write: ${name.slice(0, 5)}`, () => {
      expect(refusal(() => openRoot({ path: join(folder, name) }))).toBe("ROOT_UNUSABLE");
    });
  }

  test("in a read-only folder can't be created, and reports the reason", () => {
    const file = join(import.meta.dir, "root.ts");
    const program = `
      import { createRoot } from ${JSON.stringify(file)};
      if (process.getuid() === 0) process.setuid(65534);
      try { createRoot(process.argv[1]); } catch (error) { console.log(error.code, error.message); }
    `;
    mkdirSync(join(folder, "closed"));
    chmodSync(join(folder, "closed"), 0o500);
    chmodSync(folder, 0o755);
    const root = join(folder, "closed/root");
    const { stdout } = Bun.spawnSync([process.execPath, "-e", program, root]);
    expect(stdout.toString()).toBe(
      `NO_PERMISSION can't make the folder ${root}: permission denied\n`,
    );
  });

  test("below a file can't be created, and names the file", () => {
    writeFileSync(join(folder, "file"), "");
    const make = () => createRoot(join(folder, "file/root") as ReturnType<typeof openRoot>);
    expect(refusal(make)).toBe("NOT_A_FOLDER");
  });
});
