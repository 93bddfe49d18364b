import { afterAll, expect, test } from "bun:test";
import { Serving, stopServing } from "./serving.ts";

afterAll(stopServing);

test("a number that would be rounded is refused in any body, and arrives unchanged as text", async () => {
  const serving = await Serving.start();
  const workflow = JSON.stringify({
    ...{ version: "3.18", name: "keep" },
    registry: { params: ["o(OBJECT)"], vars: ["$o(OBJECT)"] },
    steps: [{ id: "Set_O", target: "$o", value: "=o", next: "RETURN" }],
  });
  const send = (path: string, body: string) =>
    serving.fetch(path, { method: "POST", body, headers: { "content-type": "application/json" } });
  const run = (id: string) => `{"workflow": ${workflow}, "params": {"o": {"id": ${id}}}}`;
  const start = (id: string) => `{"workflow": "keep", "params": {"o": {"id": ${id}}}}`;
  for (const [path, bodyOf] of [
    ["/workflow/run", run],
    ["/api/threads", start],
  ] as const) {
    const refused = await send(path, bodyOf("9007199254740993"));
    expect([refused.status, await refused.text()]).toEqual([
      400,
      expect.stringContaining("9007199254740993"),
    ]);
  }
  const started = (await (await send("/workflow/run", run('"9007199254740993"'))).json()) as {
    runID: string;
  };
  await serving.until(started.runID, "completed");
  const variables = await serving.ok<object>(`/workflow/${started.runID}/variables`);
  expect(variables).toEqual({ $o: { id: "9007199254740993" } });
});
