// @cluster: it starts a server.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { codeOf } from "../../workflow/test/fixtures/until.ts";
import { missingServer } from "./fixtures/server.ts";
import {
  type Cluster,
  type ClusterAddress,
  checkWorkers,
  serviceMetadata,
  startCluster,
} from "../src/cluster.ts";

/* What is no cluster of ours: a real one, with something else in the place of one of its answers. */
let cluster: Cluster;
let folder: string;
const servers: Bun.Server<unknown>[] = [];
beforeAll(async () => {
  if (missingServer !== "") return;
  folder = mkdtempSync(join(tmpdir(), "uw-foreign-"));
  cluster = await startCluster({ folder });
});
afterAll(async () => {
  if (missingServer !== "") return;
  for (const server of servers) await server.stop(true);
  await cluster.stop();
  rmSync(folder, { recursive: true, force: true });
});

type Answer = (request: Request) => Response | undefined;

/** An interface of the cluster, but for what `answer` answers. */
function instead(name: "ingress" | "admin", answer: Answer): ClusterAddress {
  const { [name]: real } = cluster.address;
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: (request) =>
      answer(request) ??
      fetch(real + new URL(request.url).pathname, { headers: { "accept-encoding": "identity" } }),
  });
  servers.push(server);
  return { ...cluster.address, [name]: `http://127.0.0.1:${server.port}` };
}

const closed = "http://127.0.0.1:1";
const at = (path: string, body: unknown): Answer => {
  return ({ url }) => (new URL(url).pathname === path ? Response.json(body) : undefined);
};
const html = () => new Response("<!doctype html><title>It works</title>");
const guarded: Answer = ({ headers }) =>
  headers.get("authorization") === "Bearer right" ? undefined : new Response("", { status: 401 });
const service = (metadata?: object) => ({ services: [{ name: "thread", metadata }] });

describe.skipIf(missingServer !== "")(`it is one line when there is${missingServer}`, () => {
  const cases: [string, string, () => ClusterAddress][] = [
    ["nothing", "NO_CLUSTER", () => ({ ingress: closed, admin: closed, token: null })],
    ["only an ingress", "HALF_CLUSTER", () => ({ ...cluster.address, admin: closed })],
    ["only an admin interface", "HALF_CLUSTER", () => ({ ...cluster.address, ingress: closed })],
    ["HTML at the ingress", "NOT_A_CLUSTER", () => instead("ingress", html)],
    ["HTML at the admin interface", "NOT_A_CLUSTER", () => instead("admin", html)],
    ["no token", "BAD_TOKEN", () => instead("ingress", guarded)],
    ["a wrong token", "BAD_TOKEN", () => ({ ...instead("admin", guarded), token: "wrong" })],
    [
      "the right token, and no worker",
      "NO_WORKERS",
      () => ({ ...instead("admin", guarded), token: "right" }),
    ],
    [
      "an old server",
      "CLUSTER_VERSION",
      () => instead("admin", at("/version", { version: "1.4.2" })),
    ],
    ["another program", "FOREIGN_SERVICES", () => instead("admin", at("/services", service()))],
    [
      "an older version of ours, which lacks a service",
      "CLUSTER_VERSION",
      () => instead("admin", at("/services", service(serviceMetadata))),
    ],
    [
      "another version of ours",
      "CLUSTER_VERSION",
      () =>
        instead("admin", at("/services", service({ program: "uncaged-workflow", format: "99" }))),
    ],
  ];
  test.each(cases)("%s: %s", async (_what, code, address) => {
    expect(await codeOf(checkWorkers(address()))).toBe(code);
  });
});
