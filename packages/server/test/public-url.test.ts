import { afterAll, describe, expect, test } from "bun:test";
import { chmodSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { AuditRecord } from "../src/guard/audit.ts";
import type { Failure } from "../src/entry/api-types.ts";
import { startServer } from "../src/entry/index.ts";
import { request, send } from "./raw.ts";
import { Serving, ServingProcess, stopServing } from "./serving.ts";

afterAll(stopServing, 180_000);

async function serve(options: Serving["options"]): Promise<Serving> {
  const serving = new Serving();
  serving.options = options;
  await serving.begin();
  return serving;
}

/** Sends a request with a token. Returns the status and the error code. */
async function outcome(serving: Serving, headers: Record<string, string>): Promise<string> {
  const own = { Authorization: `Bearer ${serving.token}`, ...headers };
  const { status, body } = await send(serving.port, request("GET /api/server", own));
  return status < 400 ? String(status) : `${status} ${(JSON.parse(body) as Failure).error.code}`;
}

describe("a server with a public https URL", () => {
  test("accepts its host name with or without its port, and rejects foreign origins", async () => {
    const serving = await serve({ publicUrl: "https://Flows.Example.com" });
    const site = "https://flows.example.com";
    for (const Host of ["flows.example.com", "FLOWS.example.com", "flows.example.com:443"]) {
      expect(await outcome(serving, { Host })).toBe("200");
      expect(await outcome(serving, { Host, Origin: site })).toBe("200");
      for (const Origin of ["http://flows.example.com", `${site}:8443`, "https://example.com"])
        expect(await outcome(serving, { Host, Origin })).toBe("403 FOREIGN_ORIGIN");
    }
    const local = `127.0.0.1:${serving.port}`;
    expect(await outcome(serving, { Host: local, Origin: `http://${local}` })).toBe("200");
    expect(await outcome(serving, { Host: local, Origin: site })).toBe("403 FOREIGN_ORIGIN");
    for (const Host of ["example.com", "flows.example.com:80", "x.flows.example.com"]) {
      const spoofed = {
        Host,
        "X-Forwarded-Host": "flows.example.com",
        "X-Forwarded-Proto": "https",
      };
      expect(await outcome(serving, spoofed)).toBe("403 FOREIGN_HOST");
    }
  });

  test("sets a secure cookie at that URL, and a plain cookie on this machine", async () => {
    const serving = await serve({ publicUrl: "https://flows.example.com" });
    const cookieAt = async (Host: string) => {
      const visit = request(`GET /?token=${serving.token}`, { Host });
      return (await send(serving.port, visit)).headers.get("set-cookie");
    };
    expect(await cookieAt("flows.example.com")).toEndWith("; HttpOnly; Secure; SameSite=Strict");
    expect(await cookieAt(`127.0.0.1:${serving.port}`)).toEndWith("; HttpOnly; SameSite=Strict");
  });

  test("prints the URL and records it in the storage root", async () => {
    const own = new ServingProcess();
    own.flags.push("--public-url", "https://flows.example.com:8443/");
    await own.begin();
    const recorded = JSON.parse(readFileSync(join(own.path, "run/server.json"), "utf8")) as object;
    expect(recorded).toMatchObject({
      url: `http://127.0.0.1:${own.port}`,
      publicUrl: "https://flows.example.com:8443",
    });
    expect(own.url).toBe(`https://flows.example.com:8443/?token=${own.token}`);
    const again = own.spawn("serve", "--port", String(own.port));
    expect(await again.exited).toBe(1);
    expect(await again.stderr.text()).toContain("this storage root is served there already");
  }, 180_000);
});

test("only allowed hosts are accepted; a name without a port also matches the server's port", async () => {
  const serving = await serve({ allowHosts: ["flows.internal", "box:8080"] });
  const { port } = serving;
  for (const Host of ["flows.internal", `flows.internal:${port}`, "box:8080"]) {
    expect(await outcome(serving, { Host, Origin: `http://${Host}` })).toBe("200");
    expect(await outcome(serving, { Host, Origin: `https://${Host}` })).toBe("403 FOREIGN_ORIGIN");
  }
  for (const Host of ["flows.internal:1", "box", "other"])
    expect(await outcome(serving, { Host })).toBe("403 FOREIGN_HOST");
});

test("the audit log has the forwarded address, else the socket's, and none without a public URL", async () => {
  const addresses = async (publicUrl: string | undefined) => {
    const serving = new Serving();
    const tokenFile = serving.write("tokens", `ci operate ${"a".repeat(20)}\n`);
    chmodSync(tokenFile, 0o600);
    serving.options = { tokenFile, ...(publicUrl !== undefined && { publicUrl }) };
    await serving.begin();
    for (const forwarded of ["6.6.6.6, 192.0.2.7", ""]) {
      const headers = new Headers(forwarded === "" ? [] : [["X-Forwarded-For", forwarded]]);
      expect((await serving.fetch("/api/pause", { method: "POST", headers })).status).toBe(200);
    }
    return readFileSync(join(serving.path, "audit.jsonl"), "utf8")
      .trimEnd()
      .split("\n")
      .map((line) => (JSON.parse(line) as AuditRecord).from);
  };
  expect(await addresses("https://flows.example.com")).toEqual(["192.0.2.7", "127.0.0.1"]);
  expect(await addresses(undefined)).toEqual([undefined, undefined]);
});

test.each([
  [{ publicUrl: "ftp://flows.example.com" }, "not an http or https URL"],
  [{ publicUrl: "flows.example.com" }, "not an http or https URL"],
  [{ publicUrl: "" }, "not an http or https URL"],
  [{ publicUrl: "https://flows.example.com/flows" }, "paths are not supported"],
  [{ publicUrl: "https://flows.example.com/?x" }, "paths are not supported"],
  [{ publicUrl: "https://me:secret@flows.example.com" }, "credentials are not supported"],
  [{ allowHosts: ["https://flows.example.com"] }, "--allow-host can't be"],
  [{ allowHosts: ["flows.example.com/x"] }, "--allow-host can't be"],
  [{ allowHosts: [""] }, "--allow-host can't be"],
  [{ allowHosts: ["a b"] }, "--allow-host can't be"],
  [{ allowHosts: ["box:99999"] }, "--allow-host can't be"],
])("refuses %j", (options, message) => {
  const serving = new Serving();
  const { host, env, folder: cwd } = serving;
  const parts = { host, env, cwd, version: "test", hostname: "127.0.0.1", port: 0 };
  let refused = "";
  try {
    void startServer({ ...parts, ...options }).stop();
  } catch (error) {
    refused = (error as Error).message;
  }
  expect(refused).toContain(message);
  expect(refused).not.toContain("secret");
});
