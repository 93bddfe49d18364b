import { afterEach, describe, expect, test } from "bun:test";
import { existsSync, rmSync } from "node:fs";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { pauseThread, resumeThread } from "../src/local/workers/control.ts";
import { runDir, socketName } from "../src/disk/paths.ts";
import { asker, blocking, bundleOf, endless } from "./fixtures/bundles.ts";
import { useImpatientSockets } from "./fixtures/impatient.ts";
import { removeStores, TestStore } from "./fixtures/store.ts";
import { codeOf, until } from "./fixtures/until.ts";

afterEach(removeStores);

const socketOf = (store: TestStore, hash: string) => join(runDir(store.root), socketName(hash));

/** Replaces a lost worker by an idle worker that ends at the first request to drive a thread. */
async function endingWorker(store: TestStore, hash: string): Promise<void> {
  const path = socketOf(store, hash);
  rmSync(path, { force: true });
  const ending = createServer((connection) => {
    connection.once("data", (data) => {
      if (String(data).startsWith("GET")) {
        const body = '{"pid":1,"threads":[]}';
        connection.end(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
      } else {
        ending.close();
        rmSync(path, { force: true });
        connection.destroy();
      }
    });
  });
  await new Promise<void>((listening) => ending.listen(path, listening));
}

async function interrupted() {
  const store = new TestStore();
  const ref = await store.start(await store.add(endless));
  await store.whenSteps(ref, 2);
  await store.signalWorkers("SIGKILL");
  await endingWorker(store, ref.hash);
  return { store, ref };
}

async function waiting() {
  const store = new TestStore();
  const ref = await store.start(await store.add(asker));
  await store.whenStatus(ref, "waiting");
  await store.signalWorkers("SIGKILL");
  await endingWorker(store, ref.hash);
  return { store, ref };
}

describe("a request lost with its worker", () => {
  test("resumes the thread through the next worker", async () => {
    const { store, ref } = await interrupted();
    await resumeThread(store.root, ref, { env: {} });
    expect((await store.read(ref)).status).toBe("running");
  });

  test("answers through the next worker if the answer has an id", async () => {
    const { store, ref } = await waiting();
    const input = { content: "yes", meta: { requestId: "r1" } };
    await resumeThread(store.root, ref, { env: {}, input });
    const { steps } = await store.whenStatus(ref, "completed");
    expect(steps.map(({ content }) => content)).toEqual(["may I?", "yes", "yes"]);
  });

  test("is reported if an answer without an id may have been accepted", async () => {
    const { store, ref } = await waiting();
    const refused = resumeThread(store.root, ref, { env: {}, input: { content: "yes" } });
    expect(await codeOf(refused)).toBe("WORKER_LOST");
  });
});

test("an ending worker refuses requests in transit", async () => {
  const store = new TestStore();
  const ref = await store.start(await store.add(asker));
  await store.whenStatus(ref, "waiting");
  const path = socketOf(store, ref.hash);
  const client = connect(path);
  await new Promise((connected) => client.once("connect", connected));
  let answer = "";
  client.on("data", (data) => (answer += String(data)));
  await until(() => !existsSync(path));
  client.write(
    `POST /threads/${ref.threadId}/input HTTP/1.1\r\nHost: w\r\nContent-Length: 2\r\n\r\n{}`,
  );
  await until(
    () => answer.includes("WORKER_CLOSING"),
    () => `the worker answered ${JSON.stringify(answer)}`,
  );
  client.destroy();
});

test("a pause reports that a busy worker does not respond", async () => {
  useImpatientSockets();
  const store = new TestStore();
  const ref = await store.start(await store.add(bundleOf(`yield step("a"); ${blocking}`)));
  await store.whenSteps(ref, 1);
  expect(await codeOf(pauseThread(store.root, ref))).toBe("WORKER_SILENT");
});
