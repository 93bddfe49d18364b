import { expect, test } from "bun:test";
import fc from "fast-check";
import { endpointOf, ownAddresses, refusalOf, textOf } from "./addresses.ts";

const loopback = "loopback address";
const private_ = "private address";
const linkLocal = "link-local address";
const reserved = "reserved address";
const multicast = "multicast address";

test.each([
  ["0.0.0.0", reserved],
  ["0.1.2.3", reserved],
  ["10.0.0.1", private_],
  ["10.255.255.255", private_],
  ["100.64.0.1", private_],
  ["100.100.100.200", private_],
  ["100.127.255.255", private_],
  ["127.0.0.1", loopback],
  ["127.255.255.254", loopback],
  ["168.63.129.16", "cloud metadata address"],
  ["169.254.0.1", linkLocal],
  ["169.254.169.254", linkLocal],
  ["172.16.0.1", private_],
  ["172.31.255.255", private_],
  ["192.0.0.1", reserved],
  ["192.0.0.192", reserved],
  ["192.0.2.1", reserved],
  ["192.31.196.1", reserved],
  ["192.52.193.1", reserved],
  ["192.88.99.1", reserved],
  ["192.168.0.1", private_],
  ["192.175.48.1", reserved],
  ["198.18.0.1", reserved],
  ["198.19.255.255", reserved],
  ["198.51.100.1", reserved],
  ["203.0.113.1", reserved],
  ["224.0.0.1", multicast],
  ["239.255.255.255", multicast],
  ["240.0.0.1", reserved],
  ["255.255.255.255", "broadcast address"],
  ["::", reserved],
  ["::1", loopback],
  ["::2", reserved],
  ["::127.0.0.1", reserved],
  ["::8.8.8.8", reserved],
  ["::ffff:127.0.0.1", loopback],
  ["::ffff:7f00:1", loopback],
  ["::ffff:10.0.0.1", private_],
  ["::ffff:169.254.169.254", linkLocal],
  ["::ffff:168.63.129.16", "cloud metadata address"],
  ["::ffff:0:127.0.0.1", reserved],
  ["::ffff:0:8.8.8.8", reserved],
  ["64:ff9b::127.0.0.1", loopback],
  ["64:ff9b::a9fe:a9fe", linkLocal],
  ["64:ff9b::10.1.2.3", private_],
  ["64:ff9b:1::8.8.8.8", reserved],
  ["64:ff9b:1:7f00:0:100::", reserved],
  ["100::1", reserved],
  ["1fff::1", reserved],
  ["2001::1", reserved],
  ["2001:0:4136:e378:8000:63bf:80ff:fffe", reserved],
  ["2001:2::1", reserved],
  ["2001:3::1", reserved],
  ["2001:4:112::1", reserved],
  ["2001:10::1", reserved],
  ["2001:20::1", reserved],
  ["2001:30::1", reserved],
  ["2001:db8::1", reserved],
  ["2002:7f00:1::", reserved],
  ["2002:808:808::1", reserved],
  ["2606:4700::5efe:8.8.8.8", reserved],
  ["2606:4700::200:5efe:127.0.0.1", reserved],
  ["2620:4f:8000::1", reserved],
  ["3fff::1", reserved],
  ["4000::1", reserved],
  ["5f00::1", reserved],
  ["fc00::1", private_],
  ["fd00:ec2::254", private_],
  ["fd20:ce::254", private_],
  ["fe80::1", linkLocal],
  ["fe80::1%eth0", linkLocal],
  ["2606:4700::1%eth0", linkLocal],
  ["fec0::1", private_],
  ["ff02::1", multicast],
  ["ff0e::1", multicast],
  ["", "invalid address"],
  ["example.com", "invalid address"],
  ["0x7f.1", "invalid address"],
])("%s is refused: %s", (address, reason) => {
  expect(refusalOf(address, [])).toBe(reason);
});

test.each([
  "1.1.1.1",
  "8.8.8.8",
  "100.63.255.255",
  "100.128.0.1",
  "126.255.255.255",
  "128.0.0.1",
  "168.63.129.17",
  "172.15.255.255",
  "172.32.0.1",
  "192.0.1.1",
  "223.255.255.255",
  "::ffff:8.8.8.8",
  "64:ff9b::8.8.8.8",
  "2001:4860:4860::8888",
  "2606:4700:4700::1111",
  "2a00:1450::5eff:1:2",
])("%s is a public address", (address) => {
  expect(refusalOf(address, [])).toBe(null);
});

test.each([
  ["8.8.8.8", "8.8.8.8"],
  ["::ffff:8.8.8.8", "8.8.8.8"],
  ["8.8.8.8", "::ffff:808:808"],
  ["64:ff9b::8.8.8.8", "8.8.8.8"],
  ["2606:4700::1", "2606:4700:0:0:0:0:0:1"],
  ["2606:4700::1", "2606:4700::1%eth0"],
])("%s is refused on a machine with the address %s", (address, own) => {
  expect(refusalOf(address, ["192.0.2.7", own])).toBe("address of this machine");
});

test("the addresses of this machine are read at each call", () => {
  expect(ownAddresses()).toContain("127.0.0.1");
});

const octets = fc.array(fc.nat(255), { minLength: 4, maxLength: 4 }).map((all) => all.join("."));

test("an IPv4 address inside an IPv6 address is refused if the IPv4 address is refused", () => {
  const forms = ["::", "::ffff:", "::ffff:0:", "64:ff9b::", "64:ff9b:1::", "2606:4700::5efe:"];
  fc.assert(
    fc.property(octets, fc.constantFrom(...forms), (address, prefix) => {
      if (refusalOf(address, []) === null) return;
      expect(refusalOf(prefix + address, [])).not.toBe(null);
    }),
  );
});

/** IANA's registry of special blocks as numbers, written independently of the tested code. */
const special =
  `0/8 10/8 100.64/10 127/8 169.254/16 172.16/12 192.0.0/24 192.0.2/24 192.31.196/24 192.52.193/24
  192.88.99/24 192.168/16 192.175.48/24 198.18/15 198.51.100/24 203.0.113/24 224/4 240/4 168.63.129.16/32`
    .split(/\s+/)
    .map((block) => {
      const [start = "", bits = "32"] = block.split("/");
      return { start: numberOf(start), size: 2 ** (32 - Number(bits)) };
    });

function numberOf(address: string): number {
  const [a = 0, b = 0, c = 0, d = 0] = address.split(".").map(Number);
  return ((a * 256 + b) * 256 + c) * 256 + d;
}

const textOfNumber = (n: number): string =>
  [n / 2 ** 24, (n / 2 ** 16) % 256, (n / 256) % 256, n % 256].map(Math.floor).join(".");

test("an IPv4 address is public exactly outside the special blocks", () => {
  const edges = special.flatMap(({ start, size }) => [
    start - 1,
    start,
    start + size - 1,
    start + size,
  ]);
  const near = fc.constantFrom(...edges.filter((n) => n >= 0 && n < 2 ** 32));
  fc.assert(
    fc.property(fc.oneof(near, fc.nat(2 ** 32 - 1)), (n) => {
      const isSpecial = special.some(({ start, size }) => n >= start && n < start + size);
      expect(refusalOf(textOfNumber(n), []) !== null).toBe(isSpecial);
    }),
    { numRuns: 2000 },
  );
});

test.each([
  ["example.com:443", "example.com:443"],
  ["EXAMPLE.com.:443", "example.com:443"],
  ["localhost.:1", "localhost:1"],
  ["a_b.example:65535", "a_b.example:65535"],
  ["127.0.0.1:80", "127.0.0.1:80"],
  ["127.0.0.1.:80", "127.0.0.1:80"],
  ["127.1:80", "127.0.0.1:80"],
  ["2130706433:80", "127.0.0.1:80"],
  ["0x7f.1:80", "127.0.0.1:80"],
  ["0x7f000001:80", "127.0.0.1:80"],
  ["0177.0.0.1:80", "127.0.0.1:80"],
  ["017700000001:80", "127.0.0.1:80"],
  ["0:80", "0.0.0.0:80"],
  ["１２７.0.0.1:80", "127.0.0.1:80"],
  ["127。0。0。1:80", "127.0.0.1:80"],
  ["ⓛocalhost:80", "localhost:80"],
  ["%6c%6fcalhost:80", "localhost:80"],
  ["127%2e0%2e0%2e1:80", "127.0.0.1:80"],
  ["bücher.example:80", "xn--bcher-kva.example:80"],
  ["[::1]:80", "[::1]:80"],
  ["[0:0:0:0:0:0:0:1]:80", "[::1]:80"],
  ["[::FFFF:127.0.0.1]:80", "[::ffff:7f00:1]:80"],
  ["example.com:0080", "example.com:80"],
])("%s is %s", (text, expected) => {
  const endpoint = endpointOf(text);
  expect(endpoint && textOf(endpoint)).toBe(expected);
});

test.each([
  "",
  ":",
  ":80",
  "example.com",
  "example.com:",
  "example.com:0",
  "example.com:65536",
  "example.com:-1",
  "example.com:+1",
  "example.com:1e3",
  "example.com:80 ",
  " example.com:80",
  "exa mple.com:80",
  "example.com:80\r\nx: y",
  "exam\nple.com:80",
  "example.com\0:80",
  "user@example.com:80",
  "user:password@example.com:80",
  "http://example.com:80",
  "example.com:80/path",
  "example.com/path:80",
  "example.com\\path:80",
  "a%2fb:80",
  "a%00b:80",
  "*:80",
  "*.example.com:80",
  "a..b:80",
  "localhost..:80",
  "256.0.0.1:80",
  "1.2.3.4.5:80",
  "::1:80",
  "[::1]",
  "[::1:80",
  "[example.com]:80",
  "[127.0.0.1]:80",
  "[fe80::1%eth0]:80",
  "[fe80::1%25eth0]:80",
  "[::1]x:80",
])("%j is not a host and a port", (text) => {
  expect(endpointOf(text)).toBe(null);
});

test("an endpoint's text parses to the same endpoint", () => {
  fc.assert(
    fc.property(fc.webAuthority({ withPort: true }), fc.string(), (authority, other) => {
      for (const text of [authority, other, `${other}:80`]) {
        const endpoint = endpointOf(text);
        if (endpoint) expect(endpointOf(textOf(endpoint))).toEqual(endpoint);
      }
    }),
  );
});
