import { readdirSync } from "node:fs";
import { connect } from "node:net";
import { attempt, attempts, NotTried, py } from "./attempt.mjs";

/** Connects and sends a text. Returns `connected: ` and the response, if any. @throws without a connection */
export const reach = (where, sent = "") =>
  new Promise((resolve, reject) => {
    const socket = connect(where);
    let got = "";
    const end = (act) => {
      clearTimeout(timer);
      socket.destroy();
      act();
    };
    const timer = setTimeout(() => {
      end(() => (socket.isOpen ? resolve(`connected: ${got}`) : reject(new Error("no answer"))));
    }, 3000);
    socket.once("connect", () => {
      socket.isOpen = true;
      socket.write(sent);
    });
    socket.on("data", (part) => (got += part));
    socket.once("error", (error) => end(() => reject(error)));
    socket.once("close", () => end(() => resolve(`connected: ${got}`)));
  });

const request = (name) => `GET /${encodeURIComponent(name)} HTTP/1.0\r\nHost: canary\r\n\r\n`;
const direct = (name, hostOf) =>
  attempt("connect", name, async (targets) => {
    const host = hostOf(targets);
    if (!host) throw new NotTried("this machine has no such address");
    return await reach({ host, port: targets.port }, request(name));
  });

direct("loopback", () => "127.0.0.1");
direct("another address of loopback", () => "127.9.9.9");
direct("any address", () => "0.0.0.0");
direct("loopback of IPv6", () => "::1");
direct("any address of IPv6", () => "::");
direct("loopback as an IPv4 address in IPv6", () => "::ffff:127.0.0.1");
direct("localhost by name", () => "localhost");
direct("the machine by name", ({ hostname }) => hostname);
direct("an address of this machine", ({ addresses }) => addresses.v4[0]);
direct("an IPv6 address of this machine", ({ addresses }) => addresses.v6[0]);
direct("a link-local address of this machine", ({ addresses }) => addresses.local[0]);

attempts("connect", {
  "the metadata service of a cloud": async () => {
    const answer = await reach({ host: "169.254.169.254", port: 80 }, request("metadata"));
    return answer;
  },
  "the server": async ({ server }) =>
    await reach({ host: "127.0.0.1", port: server }, request("threads")),
  "the ingress of the cluster": async ({ ingress }) => {
    if (ingress === null) throw new NotTried("no cluster found");
    return await reach({ host: "127.0.0.1", port: ingress }, request("restate/health"));
  },
  "the admin port of the cluster": async ({ admin }) => {
    if (admin === null) throw new NotTried("no cluster found");
    return await reach({ host: "127.0.0.1", port: admin }, request("health"));
  },
  "a UDP port of loopback": ({ udp }) => {
    py(
      `socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"hostile", ("127.0.0.1", ${udp}))`,
    );
    return null;
  },
  "an abstract Unix socket": ({ abstract }) => {
    const got = py(
      `
s = socket.socket(socket.AF_UNIX)
s.connect("\\0" + sys.argv[1])
print("connected")`,
      abstract,
    );
    return got;
  },
  "a Unix socket in the home directory": async ({ unix }) => await reach({ path: unix }),
  "a Unix socket through the first process's root": async ({ unix }) =>
    await reach({ path: `/proc/1/root${unix}` }),
  "a Unix socket in the project": async () =>
    await reach({ path: "/workspace/project/service.sock" }),
  "a Unix socket in a read-only mount": async () =>
    await reach({ path: "/workspace/mounts/fixed/service.sock" }),
  "a socket that controls a worker": async ({ root }) => {
    const names = readdirSync(`${root}/run`).filter((name) => name.endsWith(".sock"));
    for (const name of names) return await reach({ path: `${root}/run/${name}` });
    return null;
  },
  "a container engine": async () => {
    for (const path of ["/var/run/docker.sock", "/run/docker.sock", "/run/podman/podman.sock"]) {
      const got = await reach({ path }).catch(() => null);
      if (got !== null) return got;
    }
    return null;
  },
  "the session bus, the SSH agent, the display": async () => {
    const { DBUS_SESSION_BUS_ADDRESS = "", SSH_AUTH_SOCK = "" } = process.env;
    const [, bus = ""] = /path=([^,]+)/.exec(DBUS_SESSION_BUS_ADDRESS) ?? [];
    for (const path of [bus, SSH_AUTH_SOCK, "/run/dbus/system_bus_socket", "/tmp/.X11-unix/X0"]) {
      const got = path === "" ? null : await reach({ path }).catch(() => null);
      if (got !== null) return `${path}: ${got}`;
    }
    return null;
  },
  "raw packets": () => {
    py(
      `socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP).sendto(b"\\x08\\0\\0\\0hostile", ("127.0.0.1", 0))`,
    );
    return "sent";
  },
  "raw Ethernet frames": () => {
    py(`
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
names = [name for _, name in socket.if_nameindex() if name != "lo"]
s.bind((names[0], 0))
s.send(b"\\xff" * 12 + b"\\x88\\xb5hostile")`);
    return "sent";
  },
  "the network settings, by netlink": () => {
    py(`
s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
s.bind((0, 0))
# RTM_NEWADDR: 10.99.99.99/32 on the first interface.
body = struct.pack("BBBBi", 2, 32, 0, 0, 1) + struct.pack("HH4s", 8, 2, bytes([10, 99, 99, 99])) + struct.pack("HH4s", 8, 1, bytes([10, 99, 99, 99]))
s.send(struct.pack("IHHII", 16 + len(body), 20, 0x405, 1, 0) + body)
answer = s.recv(4096)
code = struct.unpack_from("i", answer, 16)[0]
if code != 0: raise OSError(-code, os.strerror(-code))
print(socket.if_nameindex())`);
    return "added an address";
  },
  "the host of a virtual machine, by vsock": () => {
    py(`
for port in (22, 80, 1024, 5252):
    s = socket.socket(40, socket.SOCK_STREAM)
    s.settimeout(2)
    try:
        s.connect((2, port))
        print("connected", port)
        break
    except OSError as error: last = error
else: raise last`);
    return "connected";
  },
});
