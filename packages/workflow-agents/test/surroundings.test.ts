import { afterEach, describe, expect, test } from "bun:test";
import type { ProviderError } from "../src/llm/error.ts";
import { models, threadAt } from "./models.ts";
import { observed, threadOf } from "./published.ts";
import type { Reply, WireServer } from "./wire.ts";

/* Tests that providers use the thread's environment. The worker's own environment may be that of another shell. */
const stops: (() => Promise<void>)[] = [];
const before = { ...process.env };
afterEach(async () => {
  for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name];
  await Promise.all(stops.splice(0).map((stop) => stop()));
});

const names = [
  "API_KEY",
  "AUTH_TOKEN",
  "BASE_URL",
  "CUSTOM_HEADERS",
  "ORG_ID",
  "PROJECT_ID",
  "LOG",
];
const more = ["ADMIN_KEY", "WEBHOOK_SECRET", "WEBHOOK_SIGNING_KEY", "PROFILE", "ORGANIZATION_ID"];
const foreign = "http://127.0.0.1:1/of-the-process";

describe.each(models)("a request of the $name agent", (model) => {
  const prefix = model.name === "anthropic" ? "ANTHROPIC" : "OPENAI";

  async function serve(...replies: Reply[]): Promise<WireServer<{ model: string }>> {
    const server = await model.serve(replies);
    stops.push(server.stop);
    return server;
  }

  /** Sets every variable that the provider's client reads from its process. */
  function setForeign(): void {
    for (const name of [...names, ...more]) process.env[`${prefix}_${name}`] = foreign;
    process.env[`${prefix}_CUSTOM_HEADERS`] =
      "X-Of-The-Process: yes\nAuthorization: Bearer foreign";
  }

  test("contains no value of the worker's environment", async () => {
    const server = await serve({ text: "ok" });
    const ask = () => model.agent({ maxRetries: 0 })(threadAt(model, server), "");
    expect(await ask()).toBe("ok");
    setForeign();
    expect(await ask()).toBe("ok");
    const [clean, second] = server.came;
    expect(second?.headers).toEqual({ ...clean?.headers });
    expect(JSON.stringify(second?.headers)).not.toMatch(/of-the-process|foreign/i);
    expect(second?.body).toEqual(clean?.body as { model: string });
    expect(process.env[`${prefix}_LOG`]).toBe(foreign);
  });

  test("does not use a key of the worker's environment", async () => {
    const server = await serve({ text: "ok" });
    setForeign();
    const agent = model.agent({ apiKey: server.key, baseUrl: server.url, maxRetries: 0 });
    expect(await agent(threadOf(), "")).toBe("ok");
    const run = await observed(() => model.agent()(threadOf(), ""));
    expect(run.error).toMatchObject({ code: "LLM_NO_KEY" });
  });

  test("has the headers that the thread's environment adds", async () => {
    const server = await serve({ text: "ok" });
    const headers = "X-Gateway: blue\n\n X-Team : a: b \n";
    const env = { ...model.env(server), [`${prefix}_CUSTOM_HEADERS`]: headers };
    expect(await model.agent()(threadOf({ env }), "")).toBe("ok");
    expect(server.came[0]?.headers).toMatchObject({ "x-gateway": "blue", "x-team": "a: b" });
  });

  test.each(["no colon", "a b: c", "X-A: \u0001", ": x"])(
    "is not sent with the invalid header %p",
    async (line) => {
      const server = await serve({ text: "ok" });
      const env = { ...model.env(server), [`${prefix}_CUSTOM_HEADERS`]: `X-Good: yes\n${line}` };
      const { error } = await observed(() => model.agent()(threadOf({ env }), ""));
      expect(error).toMatchObject({ code: "LLM_BAD_REQUEST", isFree: true });
      expect((error as ProviderError).hint).toContain(`${prefix}_CUSTOM_HEADERS`);
      expect(server.came).toEqual([]);
    },
  );
});
