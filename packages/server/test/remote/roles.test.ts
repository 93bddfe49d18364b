import { afterAll, beforeAll, expect, test } from "bun:test";
import { chmodSync } from "node:fs";
import { openRemoteHost } from "@uncaged/workflow/client";
import type { Host, ThreadRef } from "@uncaged/workflow/host";
import { codeOf } from "../../../workflow/test/fixtures/until.ts";
import { Serving, stopServing } from "../serving.ts";

const tokenOf = (name: string) => `${name}-0123456789-abcdefghij`;
const place = { cwd: "/", env: {} };
const input = { content: "yes", by: { kind: "terminal", name: "forged" } } as const;

const serving = new Serving();
let ref: ThreadRef;

beforeAll(async () => {
  const names = { reader: "read", approver: "answer", operator: "operate" };
  const lines = Object.entries(names).map(([name, role]) => `${name} ${role} ${tokenOf(name)}\n`);
  const tokenFile = serving.write("tokens", lines.join(""));
  chmodSync(tokenFile, 0o600);
  serving.options = { tokenFile };
  await serving.begin("asker");
  ref = await serving.host.start({ workflow: "asker", ...place });
  await serving.until(ref.threadId, "waiting");
});
afterAll(stopServing);

const hostFor = (token: string): Promise<Host> =>
  openRemoteHost(`http://127.0.0.1:${serving.port}`, { token });

test("each role can call only its methods", async () => {
  const [reader, approver] = await Promise.all(
    ["reader", "approver"].map((name) => hostFor(tokenOf(name))),
  );
  if (!reader || !approver) throw new Error("no hosts");
  expect((await reader.read(ref)).status).toBe("waiting");
  expect((await reader.verify()).problems).toEqual([]);
  for (const host of [reader, approver]) {
    const calls = [
      host.start({ workflow: "asker", ...place }),
      host.control(ref, { kind: "kill", env: {} }),
      host.fork(ref, { keep: { atStep: 1 }, input, env: {} }),
      host.remove(ref, { force: true }),
      host.unregister("asker"),
      host.collect(),
    ];
    const codes = await Promise.all(calls.map(codeOf));
    expect(new Set(codes)).toEqual(new Set(["ROLE_TOO_LOW"]));
  }
  const answer = { kind: "answer", input, env: {} } as const;
  expect(await codeOf(reader.control(ref, answer))).toBe("ROLE_TOO_LOW");
  expect((await serving.host.read(ref)).steps).toHaveLength(1);
  await approver.control(ref, answer);
  await serving.until(ref.threadId, "completed");
  const { steps } = await serving.host.read(ref);
  // The sender of an answer comes from the token, not from the answer.
  expect(steps[1]?.meta.by).toEqual({ kind: "api", name: "approver" });
});

test.each<[string, (host: Host) => Promise<ThreadRef>]>([
  ["fork's answer", (host) => host.fork(ref, { keep: { atStep: 1 }, input, env: {} })],
  ["rerun", (host) => host.fork(ref, { keep: { atStep: 0 }, rerun: input, env: {} })],
  ["first input", (host) => host.start({ workflow: "asker", input, ...place })],
])(
  "a named token determines the sender of a %s; the storage root's own token can name another sender",
  async (_, begin) => {
    const senderOf = async (token: string) => {
      const host = await hostFor(token);
      const { steps } = await host.read(await begin(host));
      return steps.find(({ role }) => role === "__input__")?.meta.by;
    };
    expect(await senderOf(tokenOf("operator"))).toEqual({ kind: "api", name: "operator" });
    expect(await senderOf(serving.token)).toEqual(input.by);
  },
);
