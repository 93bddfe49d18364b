import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { until } from "../../workflow/test/fixtures/until.ts";
import { TriggerError } from "../src/entry/index.ts";
import { type CheckLimits, runCheck } from "../src/trigger/check-script.ts";

const cwd = mkdtempSync(join(tmpdir(), "uw-check-"));
afterAll(() => rmSync(cwd, { recursive: true }));
const env = { PATH: process.env.PATH ?? "", ONLY: "this" };

const check = (script: string, limits?: CheckLimits, mask?: (text: string) => string) =>
  runCheck({ argv: ["sh", "-c", script], cwd, env, mask }, new AbortController().signal, limits);

const failing = async (script: string, limits?: CheckLimits): Promise<string> => {
  const error: unknown = await check(script, limits).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(TriggerError);
  const { message } = error as TriggerError;
  expect(message).not.toContain("\n");
  return message;
};

/** Waits until the processes whose ids a script wrote are gone. */
const whenGone = async (file: string) => {
  const ids = () => readFileSync(join(cwd, file), "utf8").trim().split("\n").map(Number);
  await until(() =>
    ids().every((id) => {
      try {
        // A zombie counts as gone, because its parent may never reap it.
        return readFileSync(`/proc/${id}/stat`, "utf8").includes(") Z");
      } catch {
        return true;
      }
    }),
  );
};

test("a check runs in its folder and environment, without input, and its stdout is the output", async () => {
  expect(await check("pwd; echo $ONLY; env | wc -l >/dev/null; printf end")).toBe(
    `${cwd}\nthis\nend`,
  );
  expect(await check('cat; read line; echo "<$line>"; echo noise >&2')).toBe("<>\n");
  expect(await check("true")).toBe("");
  expect(await check("seq 100000")).toHaveLength(588_895);
  expect(await check("echo hunter22", {}, (text) => text.replace("hunter22", "[secret]"))).toBe(
    "[secret]\n",
  );
});

test("output with invalid UTF-8 is kept with replacement characters", async () => {
  expect(await check("printf 'a\\000b\\377c\\303'")).toBe("a\0b\uFFFDc\uFFFD");
});

test("a check fails by its exit code or a signal, and the error has the end of its stderr", async () => {
  expect(await failing("echo out; echo 'no  such\nhost' >&2; exit 3")).toBe(
    "the check failed with exit code 3: no such host",
  );
  expect(await failing("kill -9 $$")).toBe("the check was ended by SIGKILL");
  expect(await failing("yes complaint >&2 & sleep 0.1; exit 1")).toContain("exit code 1: ");
  expect(await failing("exec /no/such/program")).toContain("exit code 127");
});

test("a check that cannot be started fails", async () => {
  const none = new AbortController().signal;
  const command = { argv: ["/no/such/shell"], cwd, env };
  expect(runCheck(command, none)).rejects.toBeInstanceOf(TriggerError);
  expect(runCheck({ ...command, argv: ["sh"], cwd: join(cwd, "gone") }, none)).rejects.toThrow(
    "does not exist",
  );
});

test("a check is ended at its timeout, with all its processes", async () => {
  const script =
    "echo $$ > late; sleep 60 & echo $! >> late; trap '' TERM; while :; do sleep 1; done";
  expect(await failing(script, { timeoutMs: 300 })).toBe(
    "the check took longer than 0.3 seconds and was ended",
  );
  await whenGone("late");
});

test("output over the limit ends a check, even by one byte", async () => {
  expect(await failing("echo $$ > endless; yes")).toBe("the check printed more than 1048576 bytes");
  await whenGone("endless");
  expect(await check("head -c 1048576 /dev/zero")).toHaveLength(1_048_576);
  expect(await failing("head -c 1048577 /dev/zero")).toContain("printed more than");
});

test("background processes of a check end with it, and its output is kept", async () => {
  expect(await check("echo first; sleep 60 & echo $! > left")).toBe("first\n");
  await whenGone("left");
});

test("an aborted check is ended", async () => {
  const stop = new AbortController();
  const running = runCheck(
    { argv: ["sh", "-c", "echo $$ > aborted; sleep 60"], cwd, env },
    stop.signal,
  );
  running.catch(() => undefined);
  await until(() => Bun.file(join(cwd, "aborted")).size > 0);
  stop.abort();
  expect(running).rejects.toThrow("was ended");
  await whenGone("aborted");
});
