import { afterEach, describe, expect, test } from "bun:test";
import { isWorkflowError, openRemoteHost, type RemoteHostOptions } from "@uncaged/workflow/client";
import { asker } from "../../../workflow/test/fixtures/bundles.ts";
import { methods, roleOf } from "../../src/remote/methods.ts";
import { Serving, stopServing } from "../serving.ts";
import { type Faults, Proxy } from "./proxy.ts";

const proxies: Proxy[] = [];
afterEach(async () => {
  await Promise.all(proxies.splice(0).map((proxy) => proxy.close()));
  await stopServing();
});

/** Returns the code, the kind and the message of the error of opening a host. Expects a message of one line. */
async function refusalOf(opening: Promise<unknown>) {
  try {
    await opening;
  } catch (error) {
    if (!isWorkflowError(error)) throw error;
    const { code, kind, message, hint } = error;
    expect(`${message} ${hint}`).not.toContain("\n");
    return { code, kind, text: `${message} ${hint}` };
  }
  throw new Error("the host was opened");
}

async function behind(faults: Faults, options: RemoteHostOptions = {}) {
  const serving = await Serving.start("counter");
  const proxy = new Proxy(serving.port);
  proxies.push(proxy);
  const url = await proxy.listen();
  proxy.faults = faults;
  const open = () => openRemoteHost(url, { token: serving.token, patienceMs: 300, ...options });
  return { serving, proxy, url, open };
}

describe("a token", () => {
  test("that is missing, wrong or cut is refused in one line without the token", async () => {
    const { port, token } = await Serving.start();
    const url = `http://127.0.0.1:${port}`;
    expect(await refusalOf(openRemoteHost(url))).toMatchObject({
      code: "NO_TOKEN",
      kind: "failed",
    });
    for (const wrong of ["another", token.slice(0, -1), `${token}x`]) {
      const { code, kind, text } = await refusalOf(openRemoteHost(url, { token: wrong }));
      expect({ code, kind }).toEqual({ code: "WRONG_TOKEN", kind: "failed" });
      expect(text).toContain("UNCAGED_WORKFLOW_TOKEN");
      expect(text).not.toContain(wrong);
    }
  });

  test("with a line break or spaces is refused before it is sent", async () => {
    for (const token of ["a\nb", " a", "a b", "", "ä"]) {
      const refusal = await refusalOf(openRemoteHost("http://127.0.0.1:1", { token }));
      expect(refusal).toMatchObject({ code: "BAD_TOKEN", kind: "usage" });
    }
  });

  test("in the URL is refused, and is not in the message", async () => {
    const urls = ["http://me:secret@host", "http://host/?token=secret", "ftp://secret@x", "secret"];
    for (const url of urls.slice(0, 3)) {
      const { code, kind, text } = await refusalOf(openRemoteHost(url));
      expect({ code, kind }).toEqual({ code: "BAD_HOST_URL", kind: "usage" });
      expect(text).not.toContain("secret");
    }
  });
});

test("the client and the server each refuse another version of the protocol", async () => {
  const { serving, open } = await behind({
    answers(_, reply) {
      reply.writeHead(200, { "Content-Type": "application/json" });
      reply.end(JSON.stringify({ name: "uncaged-workflow", protocol: 2, version: "9.0.0" }));
      return true;
    },
  });
  expect(await refusalOf(open())).toMatchObject({
    code: "OTHER_PROTOCOL",
    text: expect.stringContaining("has version 2 of the protocol, not 1"),
  });
  const { status, body } = await serving.ask<object>("/api/host/live", { protocol: 2, more: {} });
  expect({ status, body }).toMatchObject({
    status: 409,
    body: { error: { code: "OTHER_PROTOCOL", kind: "failed" } },
  });
});

describe("a response that is not the server's", () => {
  const page = (status: number, type = "text/html", more = {}): Faults => ({
    answers(_, reply) {
      reply.writeHead(status, { "Content-Type": type, ...more });
      reply.end("<html><h1>proxy</h1></html>");
      return true;
    },
  });

  test.each([
    ["the error page of a proxy", page(502), "NO_SERVER", "status 502"],
    ["a login page", page(200), "NOT_A_SERVER", "it sends text/html"],
    ["a missing page", page(404), "NOT_A_SERVER", "status 404"],
    ["a page that claims to be JSON", page(200, "application/json"), "NO_SERVER", "cut off"],
    [
      "a redirect to another host",
      page(307, "text/html", { Location: "https://elsewhere.example/login?secret=1" }),
      "REDIRECTED",
      '"https://elsewhere.example/login"',
    ],
  ])("%s is a one-line error", async (_name, faults, code, words) => {
    const { open } = await behind(faults);
    const refusal = await refusalOf(open());
    expect(refusal).toMatchObject({ code, kind: "failed" });
    expect(refusal.text).toContain(words);
    expect(refusal.text).not.toContain("secret");
    expect(refusal.text).not.toContain("<");
  });

  test("is repeated when a proxy can't reach the server", async () => {
    const faults: Faults = {
      answers(number, reply) {
        if (number > 2) return false;
        reply.writeHead(503).end("");
        return true;
      },
    };
    const { open } = await behind(faults, { patienceMs: 30_000 });
    expect(await (await open()).workflows()).toHaveLength(1);
  });

  test("after a change is an error that reports an unknown outcome", async () => {
    const { proxy, open } = await behind({});
    const host = await open();
    proxy.faults = { loses: () => true };
    const lost = host.start({ workflow: "counter", cwd: "/", env: {} });
    expect(await refusalOf(lost)).toMatchObject({ code: "OUTCOME_UNKNOWN", kind: "failed" });
    expect(await refusalOf(host.workflows())).toMatchObject({ code: "NO_SERVER" });
  });
});

test("a stopped server is a one-line error", async () => {
  const { serving, open } = await behind({});
  const host = await open();
  const url = `http://127.0.0.1:${serving.port}`;
  await serving.end();
  const { text } = await refusalOf(openRemoteHost(url, { patienceMs: 1 }));
  expect(text).toStartWith(`${url}: no response (`);
  expect(await refusalOf(host.live())).toMatchObject({ code: "NO_SERVER" });
});

test("a change whose response was lost during a restart of the server is not repeated", async () => {
  const { serving, proxy, open } = await behind({}, { patienceMs: 30_000 });
  await serving.add(
    "counter",
    "export const descriptor = { description: '', roles: {} };\nexport async function* run() { return { returnCode: 0, summary: '' }; }",
  );
  const host = await open();
  const { port } = serving;
  const before = await serving.host.history("counter");
  let isBack = false;
  // The proxy calls this after the server has answered.
  const lost = Promise.withResolvers<void>();
  const loses = (): boolean => {
    lost.resolve();
    return !isBack;
  };
  proxy.faults = { loses };
  const rolling = refusalOf(host.rollback("counter"));
  await lost.promise;
  await serving.end();
  await serving.serve(port);
  isBack = true;
  expect(await rolling).toMatchObject({ code: "OUTCOME_UNKNOWN" });
  expect((await serving.host.workflow("counter")).hash).toBe(before[1]?.hash as string);
});

test("a kill whose response was lost during a restart ends the thread, and a second kill is refused", async () => {
  const { serving, proxy, open } = await behind({}, { patienceMs: 30_000 });
  const host = await open();
  const { port } = serving;
  await serving.add("asker", asker);
  const ref = await host.start({ workflow: "asker", cwd: "/", env: {} });
  await serving.until(ref.threadId, "waiting");
  /** Kills the thread, and restarts the server after it has answered, so that the response is lost. */
  const kill = async (): Promise<unknown> => {
    const lost = Promise.withResolvers<void>();
    let isBack = false;
    proxy.faults = {
      loses: (n) => {
        if (isBack || !proxy.bodies[n - 1]?.includes('"key"')) return false;
        lost.resolve();
        return true;
      },
    };
    const killing = host.control(ref, { kind: "kill", env: {} });
    // The test awaits this promise after the restart of the server.
    killing.catch(() => undefined);
    await lost.promise;
    await serving.end();
    await serving.serve(port);
    isBack = true;
    return await killing;
  };
  expect(await kill()).toEqual({ threadId: ref.threadId, resumed: [] });
  expect(await refusalOf(kill())).toMatchObject({ code: "THREAD_ENDED" });
});

test("references and files can't leave their folders", async () => {
  const serving = await Serving.start();
  const call = async (method: string, args: object) => {
    const { status, body } = await serving.ask<{ error: { code: string } }>(`/api/host/${method}`, {
      protocol: 1,
      arguments: args,
    });
    return [status, body.error.code];
  };
  const threadId = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
  for (const hash of ["../../../../x", "", "CXZ65CYNABWZE/"]) {
    expect(await call("read", { ref: { hash, threadId } })).toEqual([400, "BAD_REQUEST"]);
    expect(await call("descriptor", { hash })).toEqual([400, "BAD_REQUEST"]);
  }
  const ref = { hash: "CXZ65CYNABWZE", threadId: "../../x" };
  expect(await call("remove", { ref, force: true })).toEqual([400, "BAD_REQUEST"]);
  const upload = (file: string, types?: string) => ({ file, files: { [file]: "x" }, types });
  expect(await call("store", upload("../x.esm.js"))).toEqual([400, "BAD_FILE_NAME"]);
  expect(await call("store", upload("/etc/x.esm.js"))).toEqual([400, "BAD_FILE_NAME"]);
  expect(await call("store", upload("x.esm.js", "/etc/passwd"))).toEqual([400, "FILE_NOT_SENT"]);
  expect(await call("store", upload("x.ts"))).toEqual([400, "BAD_REQUEST"]);
  expect(await call("toString", {})).toEqual([404, "NO_SUCH_PATH"]);
});

test("each method needs a role", () => {
  const answering = Object.entries(methods).filter(([, { role }]) => role === "answer");
  expect(answering.map(([name]) => name)).toEqual(["answer"]);
  const roles = ["read", "observe", "verify", "start", "kill", "no"].map(roleOf);
  expect(roles).toEqual(["read", "read", "read", "operate", "operate", null]);
});
