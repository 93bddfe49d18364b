/*
 * A seccomp filter that blocks the kernel's keyrings: a process inherits the session keyring of its user, with the keys and
 * tickets in it, and no namespace hides it. Sources: seccomp(2), linux/filter.h, linux/audit.h, the system call tables.
 */

/** An audit architecture, and the numbers of add_key, request_key and keyctl in it. */
type Architecture = readonly [audit: number, calls: readonly [number, number, number]];

const architectures: Partial<Record<NodeJS.Architecture, readonly Architecture[]>> = {
  x64: [
    [0xc000003e, [248, 249, 250]],
    [0x40000003, [286, 287, 288]],
  ],
  arm64: [
    [0xc00000b7, [217, 218, 219]],
    [0x40000028, [309, 310, 311]],
  ],
};

const loadWord = 0x20;
const jumpIfEqual = 0x15;
const jumpIfAtLeast = 0x35;
const end = 0x06;
const allow = 0x7fff0000;
/** Fails a call like a kernel without keyrings: SECCOMP_RET_ERRNO with ENOSYS. */
const refuse = 0x00050000 + 38;
/** Calls of the x32 interface have this bit, under the architecture of x64. */
const x32 = 0x40000000;

/** Returns the filter for this machine in bubblewrap's format; null for an unsupported architecture. */
export function keyringFilter(architecture: NodeJS.Architecture = process.arch): Buffer | null {
  const known = architectures[architecture];
  if (known === undefined) return null;
  const program = known.flatMap(([audit, calls]) => {
    const checks = [
      instruction(loadWord, 0),
      instruction(jumpIfAtLeast, audit === 0xc000003e ? x32 : 0xffffffff, calls.length + 1),
      ...calls.map((call, at) => instruction(jumpIfEqual, call, calls.length - at)),
      instruction(end, allow),
      instruction(end, refuse),
    ];
    return [instruction(loadWord, 4), instruction(jumpIfEqual, audit, 0, checks.length), ...checks];
  });
  return Buffer.concat([...program, instruction(end, refuse)]);
}

/** Encodes one `struct sock_filter`: 16 bits of code, two jumps of 8 bits, 32 bits of value. */
function instruction(code: number, value: number, isTrue = 0, isFalse = 0): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt16LE(code, 0);
  bytes.writeUInt8(isTrue, 2);
  bytes.writeUInt8(isFalse, 3);
  bytes.writeUInt32LE(value >>> 0, 4);
  return bytes;
}
