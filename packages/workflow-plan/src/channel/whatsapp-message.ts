import type { NewMessage } from "./channel.ts";
import { type Fields, fieldsOf, isObject, listOf, momentOf, textOf, wholeOf } from "./fields.ts";

/** The ids of the linked telephone's account in mentions and quotes by other users. */
export type OwnIds = ReadonlySet<string>;

/** The state of the channel that the reader needs. */
export type Own = {
  ids: OwnIds;
  /** Whether the channel has sent a message. */
  hasSent: (id: string) => boolean;
};

/** Parses a message of the client; null if it is incomplete or not for the channel. */
export function readMessage(given: unknown, own: Own): { jid: string; message: NewMessage } | null {
  const { key: rawKey, message, messageTimestamp } = fieldsOf(given);
  const key = fieldsOf(rawKey);
  const jid = textOf(key.remoteJid) ?? "";
  const isGroup = jid.endsWith("@g.us");
  const [id, other] = isGroup
    ? [key.participant, key.participantAlt]
    : [key.remoteJid, key.remoteJidAlt];
  const sender = named(textOf(id), textOf(other));
  if (isFromMe(key) || jid === "" || sender === "") return null;
  const body = unwrapped(fieldsOf(message));
  const { id: bodyId, text = "", unread } = contentOf(body);
  if (text === "" && unread === undefined) return null;
  const context = contextOf(body);
  const replyTo = textOf(context.stanzaId) || undefined;
  const meant = meantFor(own, context, text, isGroup);
  if (meant === null) return null;
  const seconds = secondsOf(messageTimestamp);
  const timestamp = momentOf(seconds);
  const messageId = bodyId ?? (textOf(key.id) || undefined);
  return {
    jid,
    message: {
      ...{ text: unread === undefined ? meant : "", sender },
      ...(timestamp !== undefined && { timestamp }),
      ...(replyTo !== undefined && { replyTo }),
      metadata: {
        ...(messageId !== undefined && { id: messageId }),
        ...(seconds !== undefined && seconds > 0 && { order: seconds }),
        ...(unread !== undefined && { unread }),
      },
    },
  };
}

/** Returns the id of the message in the answer to a request; empty if missing. */
export const sentId = (answer: unknown): string => textOf(fieldsOf(fieldsOf(answer).key).id) ?? "";

/** Returns the ids of a connected client's account. */
export function ownIds(user: unknown): Set<string> {
  const { id, lid } = fieldsOf(user);
  return new Set([id, lid].flatMap((one) => withoutDevice(textOf(one) ?? "") || []));
}

/**
 * Treats a message as sent by this device unless another sender is certain, to avoid an endless exchange with itself.
 */
const isFromMe = ({ fromMe }: Fields): boolean =>
  !(fromMe === false || fromMe === undefined || fromMe === null);

const wrappers = [
  ...(["ephemeralMessage", "viewOnceMessage", "viewOnceMessageV2"] as const),
  ...(["viewOnceMessageV2Extension", "documentWithCaptionMessage", "editedMessage"] as const),
  ...(["associatedChildMessage", "botInvokeMessage"] as const),
];
const mostWrappers = 5;

/** Unwraps a nested message, for example of a chat with disappearing messages. */
function unwrapped(message: Fields, depth = 0): Fields {
  const wrapper = wrappers.find((one) => isObject(fieldsOf(message[one]).message));
  if (wrapper === undefined || depth === mostWrappers) return message;
  return unwrapped(fieldsOf(fieldsOf(message[wrapper]).message), depth + 1);
}

const contents: Readonly<Record<string, string>> = {
  imageMessage: "picture",
  audioMessage: "voice message",
  videoMessage: "video",
  ptvMessage: "video message",
  documentMessage: "file",
  stickerMessage: "sticker",
  locationMessage: "location",
  liveLocationMessage: "location",
  contactMessage: "contact",
  contactsArrayMessage: "contacts",
  pollCreationMessage: "poll",
  pollCreationMessageV2: "poll",
  pollCreationMessageV3: "poll",
  eventMessage: "event",
  lottieStickerMessage: "sticker",
};

const edit = [14, "14", "MESSAGE_EDIT"];

/** Returns the text of a message, or the kind of its unreadable content. */
function contentOf(body: Fields): { text?: string; unread?: string; id?: string } {
  const protocol = fieldsOf(body.protocolMessage);
  if (edit.some((one) => one === protocol.type)) {
    const id = textOf(fieldsOf(protocol.key).id);
    return { unread: "edit", ...(id && { id: `edit ${id}` }) };
  }
  const text = textOf(body.conversation) || textOf(fieldsOf(body.extendedTextMessage).text);
  if (text) return { text };
  const key = Object.keys(contents).find((one) => isObject(body[one]));
  if (key === undefined) return {};
  const unread = contents[key] ?? key;
  return { text: textOf(fieldsOf(body[key]).caption) ?? "", unread };
}

/** Returns the reply reference and the mentions of a message. */
function contextOf(body: Fields): Fields {
  const parts = Object.values(body).map((one) => fieldsOf(one).contextInfo);
  return fieldsOf(parts.find(isObject));
}

/**
 * Returns a text without the mention of the channel's number; null for a group message that neither mentions the
 * channel nor replies to it.
 */
function meantFor(own: Own, context: Fields, text: string, isGroup: boolean): string | null {
  if (!isGroup) return text;
  const quoted = withoutDevice(textOf(context.participant) ?? "");
  const mentioned = listOf(context.mentionedJid).some((one) =>
    own.ids.has(withoutDevice(textOf(one) ?? "")),
  );
  const isReply = own.ids.has(quoted) || own.hasSent(textOf(context.stanzaId) ?? "");
  if (!mentioned) return isReply ? text : null;
  const numbers = [...own.ids].map((id) => id.replace(/@.*$/, "")).filter((id) => /^\d+$/.test(id));
  const name = `@(?:${numbers.join("|")})(?!\\d)`;
  return text
    .replace(new RegExp(`^\\s*${name}[\\s,:]*`), "")
    .replace(new RegExp(`\\s+${name}\\s*$`), "");
}

/** Parses a time in seconds in the client's formats: a number, digits, or a 64-bit value. */
function secondsOf(value: unknown): number | undefined {
  if (typeof value === "bigint") return wholeOf(Number(value));
  if (!isObject(value)) return wholeOf(value);
  const { high, low } = value;
  const [upper, lower] = [wholeOf(high), wholeOf(low)];
  return upper === 0 && lower !== undefined ? lower >>> 0 : undefined;
}

const withoutDevice = (id: string): string => id.replace(/:\d+@/, "@");

/** Returns an id in its readable form, if known: a telephone number, without the device number. */
function named(id: string | undefined, other: string | undefined): string {
  const telephone = [id, other].find((one) => one?.endsWith("@s.whatsapp.net"));
  return withoutDevice(telephone ?? id ?? "");
}
