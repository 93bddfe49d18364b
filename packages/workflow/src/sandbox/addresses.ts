import { isIP, isIPv6 } from "node:net";
import { networkInterfaces } from "node:os";
import ipaddr from "ipaddr.js";

/** A connection target. The host is in lower case, without brackets or a final dot. */
export type Endpoint = { host: string; port: number };

const withPort = /^(\[[\da-f:.]+\]|[^[\]:/?#@\\\s]+):(\d{1,5})$/i;
const hostName = /^[a-z\d_-]+(\.[a-z\d_-]+)*$/;

/**
 * Parses `host:port` and `[v6]:port`; null when invalid. Parses the host like the host of a URL, so that all spellings
 * of an address (`0x7f.1`, `2130706433`, full-width digits) give the same result.
 */
export function endpointOf(text: string): Endpoint | null {
  const [, written = "", digits] = withPort.exec(text) ?? [];
  const port = Number(digits);
  const host = canonicalOf(written)?.replace(/\.$/, "") ?? "";
  const valid = port >= 1 && port <= 65_535 && (isIP(host) !== 0 || hostName.test(host));
  return valid ? { host, port } : null;
}

/** Returns a host as a URL formats it, but an IPv6 address without its brackets. */
function canonicalOf(host: string): string | null {
  // Without the slash, a URL would drop control characters at the end of the host.
  const url = `http://${host}/`;
  return URL.canParse(url) ? new URL(url).hostname.replace(/^\[(.*)\]$/, "$1") : null;
}

/** Formats an endpoint as `host:port` or `[v6]:port`. */
export const textOf = ({ host, port }: Endpoint): string =>
  host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;

/** Returns the current addresses of this machine's interfaces. */
export function ownAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((all = []) => all.map((one) => one.address));
}

type Address = ipaddr.IPv4 | ipaddr.IPv6;

const kinds: Record<string, string> = {
  broadcast: "broadcast address",
  carrierGradeNat: "private address",
  deprecatedSiteLocal: "private address",
  linkLocal: "link-local address",
  loopback: "loopback address",
  multicast: "multicast address",
  private: "private address",
  uniqueLocal: "private address",
};

/** Public addresses of cloud metadata and control services (Azure). */
const services = new Set(["168.63.129.16"]);

const global = ipaddr.IPv6.parseCIDR("2000::/3");
const nat64 = ipaddr.IPv6.parseCIDR("64:ff9b::/96");

/**
 * Returns the reason why a sandbox may not connect to an address; null for a public address of another machine. A
 * mapped or NAT64 address is judged by the IPv4 address inside. Other special ranges are always refused.
 */
export function refusalOf(text: string, own: readonly string[]): string | null {
  if (isIP(text) === 0) return "invalid address";
  if (text.includes("%")) return "link-local address";
  const address = embeddedOf(addressOf(text));
  const range = address.range();
  if (range !== "unicast") return kinds[range] ?? "reserved address";
  if (address instanceof ipaddr.IPv6 && !isGlobal(address)) return "reserved address";
  const name = address.toString();
  if (services.has(name)) return "cloud metadata address";
  return own.some((one) => embeddedOf(addressOf(one)).toString() === name)
    ? "address of this machine"
    : null;
}

/** Parses an address. `ipaddr.js` reads `::1.2.3.4` as a mapped address, so it gets the URL form, `::102:304`. */
function addressOf(text: string): Address {
  const plain = text.replace(/%.*$/, "");
  return ipaddr.parse(canonicalOf(isIPv6(plain) ? `[${plain}]` : plain) ?? plain);
}

function embeddedOf(address: Address): Address {
  if (address instanceof ipaddr.IPv4) return address;
  if (address.isIPv4MappedAddress()) return address.toIPv4Address();
  if (address.match(nat64)) return new ipaddr.IPv4(address.toByteArray().slice(-4));
  return address;
}

/** Whether an address is in the global range and does not embed an IPv4 address (ISATAP). */
function isGlobal(address: ipaddr.IPv6): boolean {
  const [, , , , flags = 0, marker] = address.parts;
  return address.match(global) && !((flags & 0xfdff) === 0 && marker === 0x5efe);
}

/**
 * Addresses that a sandboxed step may reach although they are not public, as `host:port`: the user's list and the
 * model's address.
 */
export type EgressPolicy = { allow: readonly string[] };
