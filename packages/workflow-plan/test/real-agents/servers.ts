import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { until } from "../../../workflow/test/fixtures/until.ts";

/* Servers for the programs of a step. Each keeps its files in a folder of the test. */

/** An address of this machine other than loopback, which programs reach through the HTTP proxy; else loopback. */
const ownAddress =
  Object.values(networkInterfaces())
    .flatMap((all) => all ?? [])
    .find(({ family, internal }) => family === "IPv4" && !internal)?.address ?? "127.0.0.1";

type LocalServer = { address: string; stop: () => unknown };

/**
 * Runs a program of the test.
 * @throws when it fails.
 */
function must(words: string[], cwd = "/"): string {
  const env = { PATH: process.env.PATH, HOME: cwd, GIT_CONFIG_NOSYSTEM: "1" };
  const { exitCode, stderr, stdout } = Bun.spawnSync(words, { cwd, env });
  if (exitCode !== 0) throw new Error(`${words.join(" ")}: ${stderr.toString()}`);
  return stdout.toString();
}

/** Makes a bare repository with a file `readme`, which a static file server can serve too. */
export function repositoryIn(folder: string, text: string): string {
  const work = join(folder, "work");
  const bare = join(folder, "repo.git");
  mkdirSync(work, { recursive: true });
  must(["git", "init", "-q", "-b", "main", work]);
  writeFileSync(join(work, "readme"), text);
  must(["git", "add", "readme"], work);
  const identity = ["-c", "user.name=x", "-c", "user.email=x@example.com"];
  must(["git", ...identity, "commit", "-q", "-m", "Add a file"], work);
  must(["git", "clone", "-q", "--bare", work, bare]);
  must(["git", "update-server-info"], bare);
  return bare;
}

/** Serves a repository's files over https. Returns the path of its certificate too. */
export function gitOverHttps(folder: string, bare: string): LocalServer & { certificate: string } {
  const [key, certificate] = ["key.pem", "ca.pem"].map((name) => join(folder, name)) as [
    string,
    string,
  ];
  const names = `subjectAltName=IP:${ownAddress},IP:127.0.0.1`;
  must(
    `openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=test -addext ${names} -keyout ${key} -out ${certificate}`.split(
      " ",
    ),
  );
  const server = Bun.serve({
    ...{ port: 0, hostname: ownAddress },
    tls: { key: readFileSync(key, "utf8"), cert: readFileSync(certificate, "utf8") },
    fetch({ url }) {
      const path = new URL(url).pathname.replace("/repo.git/", "");
      const file = join(bare, path);
      return existsSync(file) ? new Response(Bun.file(file)) : new Response("", { status: 404 });
    },
  });
  const address = `${ownAddress}:${server.port}`;
  return { address, certificate, stop: () => server.stop(true) };
}

const sshd = "/usr/sbin/sshd";
const needed = process.getuid?.() === 0 ? "/run/sshd" : sshd;

/** The missing file without which the server of OpenSSH cannot start, or undefined. */
export const sshMissing = [sshd, needed].find((path) => !existsSync(path)) ?? "";

/** Serves a repository over ssh on loopback. Returns the path of the accepted key too. */
export async function gitOverSsh(
  folder: string,
  bare: string,
): Promise<LocalServer & { key: string; user: string }> {
  const key = join(folder, "deploy");
  const host = join(folder, "host");
  for (const path of [key, host])
    must(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "test", "-f", path]);
  const keys = join(folder, "authorized_keys");
  const command = `command="git-upload-pack '${bare}'"`;
  writeFileSync(keys, `${command} ${readFileSync(`${key}.pub`, "utf8")}`, { mode: 0o600 });
  const port = await freePort();
  const config = join(folder, "sshd_config");
  const lines = [
    ...[`Port ${port}`, "ListenAddress 127.0.0.1", `HostKey ${host}`, `AuthorizedKeysFile ${keys}`],
    ...["StrictModes no", "PidFile none", "UsePAM no", "PermitRootLogin yes"],
  ];
  writeFileSync(config, `${lines.join("\n")}\n`);
  const server = Bun.spawn([sshd, "-D", "-e", "-f", config], {
    stdout: "ignore",
    stderr: "ignore",
  });
  await until(() => isOpen(port));
  const address = `127.0.0.1:${port}`;
  const stop = async () => {
    server.kill();
    await server.exited;
  };
  return { address, key, user: must(["id", "-un"]).trim(), stop };
}

const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" ? (address?.port ?? 0) : 0));
    });
  });

const isOpen = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => {
      socket.destroy();
      resolve(true);
    });
    socket.on("error", () => resolve(false));
  });

/** Serves one package, `small-thing` 1.0.0, whose module exports a text. */
export function npmRegistry(folder: string, text: string): LocalServer & { came: string[] } {
  const content = join(folder, "package");
  mkdirSync(content);
  const about = { name: "small-thing", version: "1.0.0", main: "index.js" };
  writeFileSync(join(content, "package.json"), JSON.stringify(about));
  writeFileSync(join(content, "index.js"), `module.exports = ${JSON.stringify(text)};\n`);
  const tarball = join(folder, "small-thing-1.0.0.tgz");
  must(["tar", "-czf", tarball, "-C", folder, "package"]);
  rmSync(content, { recursive: true });
  const bytes = readFileSync(tarball);
  const integrity = `sha512-${createHash("sha512").update(bytes).digest("base64")}`;
  const came: string[] = [];
  const server = Bun.serve({
    ...{ port: 0, hostname: ownAddress },
    fetch({ url }) {
      const { origin, pathname } = new URL(url);
      came.push(pathname);
      if (pathname.endsWith(".tgz")) return new Response(bytes);
      if (pathname !== "/small-thing") return new Response("{}", { status: 404 });
      const dist = { tarball: `${origin}/small-thing/-/small-thing-1.0.0.tgz`, integrity };
      const versions = { "1.0.0": { ...about, dist } };
      return Response.json({ name: about.name, "dist-tags": { latest: "1.0.0" }, versions });
    },
  });
  return { address: `${ownAddress}:${server.port}`, came, stop: () => server.stop(true) };
}
