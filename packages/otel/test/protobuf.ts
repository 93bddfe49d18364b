import type { WireSpan } from "./collector.ts";

type Fields = Map<number, (Buffer | bigint)[]>;

/** Decodes the fields of a protobuf message. @see https://protobuf.dev/programming-guides/encoding/ */
function fieldsOf(bytes: Buffer): Fields {
  const fields: Fields = new Map();
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at++] ?? 0;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < bytes.length) {
    const tag = Number(varint());
    let value: Buffer | bigint;
    if ((tag & 7) === 0) value = varint();
    else if ((tag & 7) === 1) value = bytes.readBigUInt64LE((at += 8) - 8);
    else if ((tag & 7) === 5) value = BigInt(bytes.readUInt32LE((at += 4) - 4));
    else {
      const length = Number(varint());
      value = bytes.subarray(at, (at += length));
    }
    fields.set(tag >> 3, [...(fields.get(tag >> 3) ?? []), value]);
  }
  return fields;
}

const messages = (fields: Fields, number: number): Fields[] =>
  (fields.get(number) ?? []).map((bytes) => fieldsOf(bytes as Buffer));
const hex = (fields: Fields, number: number): string =>
  ((fields.get(number)?.[0] as Buffer | undefined) ?? Buffer.alloc(0)).toString("hex");
const text = (fields: Fields, number: number): string =>
  ((fields.get(number)?.[0] as Buffer | undefined) ?? "").toString();
const number = (fields: Fields, at: number): bigint => (fields.get(at)?.[0] as bigint) ?? 0n;

function valueOf(fields: Fields) {
  const double = fields.get(4)?.[0] as bigint | undefined;
  if (double !== undefined) {
    const bytes = Buffer.alloc(8);
    bytes.writeBigUInt64LE(double);
    return { doubleValue: bytes.readDoubleLE() };
  }
  const int = fields.get(3)?.[0] as bigint | undefined;
  return int === undefined ? { stringValue: text(fields, 1) } : { intValue: Number(int) };
}

/** Returns the spans of an `ExportTraceServiceRequest`. */
export const spansIn = (body: Buffer): WireSpan[] =>
  messages(fieldsOf(body), 1)
    .flatMap((resource) => messages(resource, 2))
    .flatMap((scope) => messages(scope, 2))
    .map((span) => ({
      traceId: hex(span, 1),
      spanId: hex(span, 2),
      parentSpanId: hex(span, 4),
      name: text(span, 5),
      kind: Number(number(span, 6)),
      startTimeUnixNano: String(number(span, 7)),
      endTimeUnixNano: String(number(span, 8)),
      attributes: messages(span, 9).map((one) => ({
        key: text(one, 1),
        value: valueOf(messages(one, 2)[0] ?? new Map()),
      })),
      links: messages(span, 13).map((link) => ({ traceId: hex(link, 1), spanId: hex(link, 2) })),
      status: { code: Number(number(messages(span, 15)[0] ?? new Map(), 3)) },
    }));
