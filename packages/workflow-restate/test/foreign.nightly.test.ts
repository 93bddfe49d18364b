// @cluster: starts a server
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { codeOf } from "../../workflow/test/fixtures/until.ts";
import { type Answer, at, guarded, instead, page } from "./fixtures/instead.ts";
import { missingServer } from "./fixtures/server.ts";
import {
  type Cluster,
  type ClusterAddress,
  checkWorkers,
  serviceMetadata,
  startCluster,
} from "../src/entry/cluster.ts";

/* The program must refuse a real cluster that gives one foreign response. */
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

/** Returns the cluster's address with one interface replaced. */
function other(name: "ingress" | "admin", answer: Answer): ClusterAddress {
  const server = instead(cluster.address, name, answer);
  servers.push(server);
  return { ...cluster.address, [name]: `http://127.0.0.1:${server.port}` };
}

const closed = "http://127.0.0.1:1";
const service = (metadata?: object) => ({ services: [{ name: "thread", metadata }] });

describe.skipIf(missingServer !== "")(`the check of a cluster refuses${missingServer}`, () => {
  const cases: [string, string, () => ClusterAddress][] = [
    ["no server", "NO_CLUSTER", () => ({ ingress: closed, admin: closed, token: null })],
    [
      "an ingress without an admin interface",
      "HALF_CLUSTER",
      () => ({ ...cluster.address, admin: closed }),
    ],
    [
      "an admin interface without an ingress",
      "HALF_CLUSTER",
      () => ({ ...cluster.address, ingress: closed }),
    ],
    ["HTML at the ingress", "NOT_A_CLUSTER", () => other("ingress", page(200))],
    ["HTML at the admin interface", "NOT_A_CLUSTER", () => other("admin", page(200))],
    ["HTML with another status", "NOT_A_CLUSTER", () => other("ingress", page(404))],
    ["no token", "BAD_TOKEN", () => ({ ...other("ingress", guarded("right")), token: null })],
    ["a wrong token", "BAD_TOKEN", () => ({ ...other("admin", guarded("right")), token: "wrong" })],
    [
      "the right token without a worker",
      "NO_WORKERS",
      () => {
        const [{ ingress }, { admin }] = [
          other("ingress", guarded("right")),
          other("admin", guarded("right")),
        ];
        return { ingress, admin, token: "right" };
      },
    ],
    [
      "an old server",
      "CLUSTER_VERSION",
      () => other("admin", at("/version", { version: "1.4.2" })),
    ],
    ["another program", "FOREIGN_SERVICES", () => other("admin", at("/services", service()))],
    [
      "an older version of this program, which lacks a service",
      "CLUSTER_VERSION",
      () => other("admin", at("/services", service(serviceMetadata))),
    ],
    [
      "another version of this program",
      "CLUSTER_VERSION",
      () => other("admin", at("/services", service({ program: "uncaged-workflow", format: "99" }))),
    ],
  ];
  test.each(cases)("%s: %s", async (_what, code, address) => {
    expect(await codeOf(checkWorkers(address()))).toBe(code);
  });
});
