import { afterAll, beforeAll, describe, setDefaultTimeout, test } from "bun:test";
import { RecordedMcp } from "./mutated-mcp.ts";

setDefaultTimeout(180_000);

describe.each([
  ["of 2026", true],
  ["before 2026", false],
])("a call to an MCP server %s with random changes in its answers", (_, isModern) => {
  const server = new RecordedMcp(isModern);
  beforeAll(() => server.record());
  afterAll(() => server.stop());

  test("yields an answer or a readable error", async () => {
    for (let seed = 0; seed < 100; seed += 1) await server.tryMutation(seed);
  });
});
