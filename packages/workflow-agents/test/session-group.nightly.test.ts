import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { openLocalHost, settled } from "@uncaged/workflow/host";
import { openRoot } from "../../workflow/src/storage/root.ts";
import { signalWorkers } from "../../workflow/test/fixtures/store.ts";
import { anthropicServer } from "./anthropic-server.ts";
import { expectCounted } from "./counted.ts";
import type { Reply } from "./wire.ts";

/* Members of a parallel group by the real Claude Code: each has its own session, after kill -9 and in a fork too. */
const folder = mkdtempSync(join(tmpdir(), "uncaged-sessions-"));
const host = openLocalHost({ path: join(folder, "root") });
const require = createRequire(import.meta.url);
const wrapper = createRequire(require.resolve("@anthropic-ai/claude-code/package.json"));
const own = `@anthropic-ai/claude-code-${process.platform}-${process.arch}/package.json`;
const claude = dirname(wrapper.resolve(own));

const members = ["a", "b", "c"];
type Asked = { member: string; round: number; hasResult: boolean };
type Body = { messages: { role: string; content: unknown }[] };

const askedIn = (text: string): Asked => ({
  member: /part ([abc])/.exec(text)?.[1] ?? "",
  round: text.includes("once more") ? 2 : 1,
  hasResult: text.includes("tool_result"),
});

/** Who has come to the moment at which the worker is killed: all three, then it is, once. */
let fatal: ((asked: Asked) => boolean) | null = null;
let came = new Set<string>();

function reply(body: object): Reply {
  const asked = askedIn(JSON.stringify((body as Body).messages));
  const { member, round, hasResult } = asked;
  if (fatal?.(asked)) {
    came.add(member);
    if (came.size === members.length) {
      fatal = null;
      void signalWorkers(openRoot({ path: host.root }), "SIGKILL");
    }
    return { fault: { kind: "hang" } };
  }
  if (round === 2) return { text: `I did ${member} again.` };
  const input = { command: `echo ${member} >> marks`, description: "Leaves a mark" };
  return hasResult ? { text: `I did ${member}.` } : { tools: [{ name: "Bash", input }] };
}

let server: Awaited<ReturnType<typeof anthropicServer>>;
beforeAll(async () => {
  server = await anthropicServer(reply);
  await host.register("sessions", join(import.meta.dir, "sessions/sessions.ts"));
}, 180_000);
afterAll(async () => {
  await signalWorkers(openRoot({ path: host.root }), "SIGKILL");
  await server.stop();
  rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
});

/** What the session of each member's last request in the second round had said before: its own words alone. */
function saidBefore(): Record<string, string[]> {
  const said: Record<string, string[]> = {};
  for (const { body } of server.came) {
    const { messages } = body as Body;
    const { member, round } = askedIn(JSON.stringify(messages));
    if (round !== 2) continue;
    const words = messages.filter(({ role }) => role === "assistant");
    said[member] = [...JSON.stringify(words).matchAll(/I did [abc]( again)?\./g)].map(
      ([text]) => text,
    );
  }
  return said;
}
const firstRound = { a: ["I did a."], b: ["I did b."], c: ["I did c."] };

test("each member of a parallel group goes on in its own session, after a kill and in a fork", async () => {
  const cwd = mkdtempSync(join(folder, "work"));
  server.came.splice(0);
  came = new Set();
  const env = {
    PATH: [claude, process.env.PATH].join(delimiter),
    HOME: folder,
    ...{ ANTHROPIC_API_KEY: server.key, ANTHROPIC_BASE_URL: server.url },
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    CLAUDE_CODE_MAX_RETRIES: "0",
  };
  const marks = () => readFileSync(join(cwd, "marks"), "utf8").trim().split("\n").toSorted();

  // All three have done their work, and none has answered.
  fatal = ({ round, hasResult }) => round === 1 && hasResult;
  const ref = await host.start({ workflow: "sessions", prompt: "all", env, cwd });
  expect((await settled(host, ref)).status).toBe("interrupted");
  await host.control(ref, { kind: "resume", env, cwd });
  const view = await settled(host, ref);
  expect(view.status).toBe("completed");
  expect(view.steps.map(({ content }) => content).toSorted()).toEqual(
    members.flatMap((member) => [`I did ${member} again.`, `I did ${member}.`]),
  );
  expect(marks()).toEqual(members);
  expect(saidBefore()).toEqual(firstRound);
  await expectCounted(host, [ref], [server]);

  // A fork behind the first round knows nothing of its source's second one, also when it was killed within its own.
  server.came.splice(0);
  came = new Set();
  fatal = ({ round }) => round === 2;
  const fork = await host.fork(ref, { keep: { atStep: 3 }, env });
  expect((await settled(host, fork)).status).toBe("interrupted");
  await host.control(fork, { kind: "resume", env, cwd });
  const forked = await settled(host, fork);
  expect([forked.status, forked.steps.length]).toEqual(["completed", 6]);
  expect(saidBefore()).toEqual(firstRound);
  expect(marks()).toEqual(members);
  await expectCounted(host, [fork], [server]);

  // And the source's sessions are as they were.
  server.came.splice(0);
  const again = await host.fork(ref, { keep: { atStep: 3 }, env });
  expect((await settled(host, again)).status).toBe("completed");
  expect(saidBefore()).toEqual(firstRound);
}, 300_000);
