import { expect, test } from "bun:test";
import { ClusterClient } from "./client.ts";

test.each([301, 302, 303, 307, 308])("the client does not follow a %i redirect", async (status) => {
  const came: Request[] = [];
  const other = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch(request) {
      came.push(request);
      return Response.json({ rows: [] });
    },
  });
  const location = `http://127.0.0.1:${other.port}/`;
  const own = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: () => new Response(null, { status, headers: { location } }),
  });
  const url = `http://127.0.0.1:${own.port}`;
  const client = new ClusterClient({ ingress: url, admin: url, token: "t-0123456789" });
  try {
    for (const asked of [client.call("index", "all", "list", {}), client.query("SELECT 1")]) {
      const error: unknown = await asked.catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ code: "NOT_A_CLUSTER" });
    }
    expect(came).toEqual([]);
  } finally {
    await Promise.all([own.stop(true), other.stop(true)]);
  }
});
