import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "../packages/workflow/test/fixtures/until.ts";
import { top } from "./source.ts";

/* Starts the reverse proxies of examples/deploy in front of a server. */

export type ProxyName = "nginx" | "caddy";
export const proxyNames = ["nginx", "caddy"] as const;

const program = (name: ProxyName): string | null =>
  Bun.which(name) ?? Bun.which(name, { PATH: "/usr/sbin:/sbin" });

/** Returns the reason for skipping the tests of a proxy; null if the proxy is installed. */
export const missingProxy = (name: ProxyName): string | null =>
  program(name) === null ? `${name} is not installed` : Bun.which("openssl") ? null : "no openssl";

/** Returns a free port. */
export function freePort(): number {
  const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response() });
  const { port = 0 } = server;
  void server.stop(true);
  return port;
}

/** Returns a file of examples/deploy with some of its words replaced. The file must contain each word. */
export function deployed(name: string, words: Record<string, string>): string {
  let text = readFileSync(join(top, "examples/deploy", name), "utf8");
  for (const [word, other] of Object.entries(words)) {
    if (!text.includes(word)) throw new Error(`examples/deploy/${name} does not contain ${word}`);
    text = text.replaceAll(word, other);
  }
  return text;
}

type Proxied = { port: number; backend: number; folder: string };

function nginxArgs({ port, backend, folder }: Proxied): string[] {
  const certificate = join(folder, "site.pem");
  const key = join(folder, "site.key");
  const made = Bun.spawnSync([
    ...["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost"],
    ...["-keyout", key, "-out", certificate],
  ]);
  if (!made.success) throw new Error(made.stderr.toString());
  const site = deployed("nginx.conf", {
    "listen 443 ssl": `listen 127.0.0.1:${port} ssl`,
    "flows.example.com;": "localhost;",
    "/etc/ssl/flows.example.com.pem": certificate,
    "/etc/ssl/flows.example.com.key": key,
    "/var/log/nginx/uncaged.log": join(folder, "access.log"),
    "127.0.0.1:9160": `127.0.0.1:${backend}`,
  });
  const places = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (name) => `${name}_temp_path ${join(folder, name)};`,
  );
  const user = process.getuid?.() === 0 ? "user root;" : "";
  const config = join(folder, "nginx.conf");
  const main = `${user} daemon off; pid ${join(folder, "nginx.pid")}; error_log stderr;
events {}
http { ${places.join(" ")}
${site}}
`;
  writeFileSync(config, main);
  return ["-p", folder, "-c", config, "-e", "stderr"];
}

function caddyArgs({ port, backend, folder }: Proxied): string[] {
  const site = deployed("Caddyfile", {
    "flows.example.com {": `https://localhost:${port} {\n\ttls internal`,
    "127.0.0.1:9160": `127.0.0.1:${backend}`,
  });
  const config = join(folder, "Caddyfile");
  const ours = `{
	admin off
	auto_https disable_redirects
	skip_install_trust
	storage file_system ${join(folder, "storage")}
}
`;
  writeFileSync(config, ours + site);
  return ["run", "--adapter", "caddyfile", "--config", config];
}

/**
 * Starts a proxy for `https://localhost:<port>`, with a certificate that no client trusts, in front of
 * `http://127.0.0.1:<backend>`. Returns a function that stops it.
 */
export async function startProxy(name: ProxyName, proxied: Proxied): Promise<() => Promise<void>> {
  mkdirSync(proxied.folder, { recursive: true });
  const args = name === "nginx" ? nginxArgs(proxied) : caddyArgs(proxied);
  const child = Bun.spawn([program(name) ?? name, ...args], {
    cwd: proxied.folder,
    env: { PATH: process.env.PATH ?? "", HOME: proxied.folder },
    stdin: "ignore",
    stdout: "ignore",
    stderr: "pipe",
  });
  let said = "";
  const listening = (async () => {
    for await (const bytes of child.stderr) said += new TextDecoder().decode(bytes);
  })();
  await until(
    async () => {
      if (child.exitCode !== null) throw new Error(said);
      const options = { tls: { rejectUnauthorized: false } };
      return await fetch(`https://localhost:${proxied.port}/healthz`, options).then(
        () => true,
        () => false,
      );
    },
    () => said,
  );
  return async () => {
    child.kill("SIGTERM");
    await child.exited;
    await listening;
  };
}
