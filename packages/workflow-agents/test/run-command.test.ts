import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ownProcesses } from "@uncaged/workflow/sandbox";
import { toolRegistry } from "../src/tools/registry.ts";
import { runCommand, type RunCommandOptions } from "../src/tools/run-command.ts";
import { until } from "../../workflow/test/fixtures/until.ts";
import { numberIn, processesIn } from "./processes.ts";

let cwd: string;
beforeEach(() => {
  cwd = realpathSync(mkdtempSync(join(tmpdir(), "uncaged-command-")));
});
afterEach(() => rmSync(cwd, { recursive: true, force: true }));

const hasBubblewrap = (await ownProcesses()) !== null;

const path = process.env.PATH ?? "";
type Input = Record<string, unknown>;
const run = async (
  input: Input,
  options: RunCommandOptions = {},
  env: Record<string, string> = {},
  signal = new AbortController().signal,
) => {
  const tools = toolRegistry([runCommand(options)]);
  return await tools.run("runCommand", input, { signal, cwd, env: { PATH: path, ...env } });
};
const sh = (script: string, ...more: string[]): Input => {
  return { argv: ["sh", "-c", script, ...more] };
};
const said = async (...call: Parameters<typeof run>) => (await run(...call)).content;

const commandOf = (pid: number): string => readFileSync(`/proc/${pid}/cmdline`, "utf8");

const memory = (): number => {
  Bun.gc(true);
  return process.memoryUsage().rss;
};

describe("runCommand", () => {
  test("runs an argv array in the thread's directory, without a shell", async () => {
    expect(await said({ argv: ["pwd"] })).toBe(cwd);
    expect(await said({ argv: ["echo", "$HOME; ls", "*"] })).toBe("$HOME; ls *");
    expect(await said({ argv: ["cat"], input: "given" })).toBe("given");
    mkdirSync(join(cwd, "sub"));
    expect(await said({ argv: ["pwd"], cwd: "sub" })).toBe(join(cwd, "sub"));
    expect(await said({ argv: ["pwd"], cwd: ".." })).toContain("leads out");
    expect(await said({ argv: ["true"] })).toBe("[no output]");
  });

  test("reports the exit code and both outputs", async () => {
    const { content, is_error } = await run(sh("echo out; echo err >&2; exit 3"));
    // The two outputs have separate pipes, so their relative order is undefined.
    expect(content).toBeOneOf(["out\nerr\n[exit code 3]", "err\nout\n[exit code 3]"]);
    expect(is_error).toBe(false);
    expect(await said(sh("kill -9 $$"))).toBe("[ended by SIGKILL]");
  });

  test("accepts a shell command line only with `allowShell`", async () => {
    const line = { command: "echo $((1 + 1)) | cat" };
    expect(await said(line)).toContain("invalid arguments of runCommand: argv");
    expect(await said(line, { allowShell: true })).toBe("2");
    expect(await said({ ...line, argv: ["pwd"] }, { allowShell: true })).toContain("either argv");
  });

  test("gives a command only the secrets that its options list, and masks them in the output", async () => {
    const env = { MY_TOKEN: "very-secret-1", OTHER_KEY: "very-secret-2" };
    expect(await said({ argv: ["env"] }, {}, env)).toBe(`PATH=${path}\nPWD=${cwd}`);
    const listed = await said({ argv: ["env"] }, { env: ["MY_*"] }, env);
    expect(listed).toContain("MY_TOKEN=***");
    expect(listed).not.toContain("very-secret");
  });

  test("masks passwords in URLs and in `*_PWD`, but not an author's name", async () => {
    const env = {
      DATABASE_URL: "postgres://ada:hunter2hunter2@db/app",
      MYSQL_PWD: "hunter3hunter3",
      GIT_AUTHOR_NAME: "Ada Lovelace",
    };
    const listed = await said({ argv: ["env"] }, { env: Object.keys(env) }, env);
    expect(listed.split("\n").sort()).toEqual([
      "DATABASE_URL=postgres://ada:***@db/app",
      "GIT_AUTHOR_NAME=Ada Lovelace",
      "MYSQL_PWD=***",
      `PATH=${path}`,
      `PWD=${cwd}`,
    ]);
  });

  test("reports a command that is missing, not executable or invalid", async () => {
    writeFileSync(join(cwd, "plain"), "no program");
    expect(await said({ argv: ["no-such-command"] })).toContain(
      'the command "no-such-command" is not found',
    );
    expect(await said({ argv: [join(cwd, "plain")] })).toContain("is not executable");
    expect(await said({ argv: [""] })).toContain("is not a command");
    expect(await said({ argv: [] })).toContain("invalid arguments of runCommand");
    expect(await said({ argv: ["echo", "a\0b"] })).toContain("a zero byte");
    expect(await said({ argv: ["echo", "x".repeat(4_000_000)] })).toContain("too long arguments");
  });

  test("keeps only the beginning and the end of 100 MB of output", async () => {
    const script = "echo first; head -c 104857600 /dev/zero | tr '\\0' x; echo; echo last";
    // The process keeps the memory of the first run, so only the second run is measured.
    await said(sh(script), { maxOutput: 200 });
    const before = memory();
    const text = await said(sh(script), { maxOutput: 200 });
    expect(text).toStartWith("first\nxxx");
    expect(text).toEndWith("x\nlast");
    expect(text).toContain("[truncated: 104857412 of 104857612 bytes left out here]");
    expect(text.length).toBeLessThan(400);
    // Memory is freed only after a garbage collection.
    await until(() => memory() - before < 60 * 1024 * 1024);
  });

  test("ends a command's whole process group at a timeout, and reports the output so far", async () => {
    const script =
      'echo begun; sh -c "trap : TERM; echo $$ >deaf; while :; do sleep 0.05; done" & wait';
    const timeoutMs = 2_000;
    const answer = await run({ ...sh(script), timeoutMs }, { graceMs: 100 });
    expect(answer.is_error).toBe(true);
    expect(answer.content).toContain(`was ended after ${timeoutMs} ms\nbegun`);
    expect(numberIn(join(cwd, "deaf"))).toBeGreaterThan(0);
    await until(() => processesIn(cwd).length === 0);
  });

  test("ends a command with its thread, after the command's grace period", async () => {
    const abort = new AbortController();
    const running = run(
      sh('echo $$ >pid; trap "" TERM; sleep 60'),
      { graceMs: 50 },
      {},
      abort.signal,
    );
    await until(() => numberIn(join(cwd, "pid")) > 0);
    abort.abort();
    expect((await running).content).toContain("was stopped with its thread");
    await until(() => processesIn(cwd).length === 0);
  });

  test("ends processes that a command forked before it exited", async () => {
    expect(await said(sh("sleep 600 & echo $! >pid; echo done"))).toBe("done");
    await until(() => processesIn(cwd).length === 0);
  });

  test("does not wait for a daemon that has left the process group and keeps the output open", async () => {
    const daemon =
      'require("child_process").spawn("sleep",["600"],{detached:true,stdio:"inherit"}).unref()';
    const script = daemon.replace(".unref()", ".pid");
    const node = `const pid = ${script}; require("fs").writeFileSync("pid", String(pid)); process.exit(0)`;
    expect(await said({ argv: ["node", "-e", node] })).toBe("[no output]");
    for (const pid of processesIn(cwd)) process.kill(pid, "SIGKILL");
  });

  test.if(hasBubblewrap)(
    "ends the daemons of a command, even with an empty environment",
    async () => {
      const daemon =
        "env -i setsid /bin/sh -c '(echo $$ >pid; exec sleep 600) & exit' >/dev/null 2>&1 <&1 &";
      expect(await said(sh(`${daemon} until [ -s pid ]; do sleep 0.01; done; echo done`))).toBe(
        "done",
      );
      expect(processesIn(cwd)).toEqual([]);
    },
  );

  test.if(hasBubblewrap)("ends a daemon at a timeout", async () => {
    const script = "setsid sh -c 'echo $$ >pid; exec sleep 600' & wait";
    const answer = await run({ ...sh(script), timeoutMs: 2_000 }, { graceMs: 100 });
    expect(answer.content).toContain("was ended after");
    expect(numberIn(join(cwd, "pid"))).toBeGreaterThan(0);
    expect(processesIn(cwd)).toEqual([]);
  });

  test("sends SIGTERM at a timeout, and lets the command end within the grace period", async () => {
    const script = 'trap "echo asked; exit 3" TERM; echo $$ >pid; while :; do sleep 0.05; done';
    const answer = await run({ ...sh(script), timeoutMs: 1_000 }, { graceMs: 60_000 });
    expect(answer.content).toContain("\nasked\n");
  });

  test("keeps a command that sends a signal to its own process group and ignores it", async () => {
    expect(await said(sh('trap "" TERM; kill 0; echo survived'))).toBe("survived");
  });

  test.if(hasBubblewrap)("warns once per call when bubblewrap is missing", async () => {
    const program = join(cwd, "runner.ts");
    const toolsOf = (name: string) => JSON.stringify(join(import.meta.dir, "../src/tools", name));
    writeFileSync(
      program,
      `import { channel } from "node:diagnostics_channel";
       import { toolRegistry } from ${toolsOf("registry.ts")};
       import { runCommand } from ${toolsOf("run-command.ts")};
       channel("uncaged.workflow").subscribe(({ type, payload }) => {
         if (type === "tool_message") console.log(payload.level, payload.message);
       });
       const context = { cwd: ${JSON.stringify(cwd)}, env: process.env, signal: new AbortController().signal };
       const { content } = await toolRegistry([runCommand()]).run("runCommand", { argv: ["echo", "hi"] }, context);
       console.log(content);`,
    );
    const bubblewrap = Bun.which("bwrap") ?? "";
    const hidden = ["--bind", "/dev/null", realpathSync(bubblewrap)];
    const { stdout } = Bun.spawnSync([
      ...[bubblewrap, "--dev-bind", "/", "/", ...hidden, "--"],
      ...[process.execPath, program],
    ]);
    expect(stdout.toString()).toBe(
      "warn processes that the command leaves in the background are not ended: bubblewrap is not available\nhi\n",
    );
  });

  test.if(hasBubblewrap)("ends a command when bubblewrap is killed", async () => {
    const running = run(sh("echo $$ >pid; exec sleep 600"), { graceMs: 100 });
    await until(() => numberIn(join(cwd, "pid")) > 0);
    const outer = processesIn(cwd).filter((pid) => commandOf(pid).includes("bwrap"));
    for (const pid of outer) process.kill(pid, "SIGKILL");
    expect((await running).content).toBe("[ended by SIGKILL]");
    await until(() => processesIn(cwd).length === 0);
  });

  test("ends a command when the process that started it is killed", async () => {
    const program = join(cwd, "runner.ts");
    const source = JSON.stringify(join(import.meta.dir, "../src/child/child.ts"));
    writeFileSync(
      program,
      `import { runChild } from ${source};
       await runChild({ argv: ["sh", "-c", "sleep 0.3; echo $$ >pid; sleep 60"], cwd: ${JSON.stringify(cwd)},
         env: process.env, signal: new AbortController().signal, timeoutMs: 60000, graceMs: 100,
         onOutput() {}, onError() {} });`,
    );
    const runner = spawn(process.execPath, [program], { stdio: "ignore" });
    await until(() => numberIn(join(cwd, "pid")) > 0);
    expect(processesIn(cwd)).not.toBeEmpty();
    const begun = readFileSync(join(cwd, "pid"), "utf8");
    runner.kill("SIGKILL");
    await until(() => processesIn(cwd).length === 0);
    expect(readFileSync(join(cwd, "pid"), "utf8")).toBe(begun);
  });
});
