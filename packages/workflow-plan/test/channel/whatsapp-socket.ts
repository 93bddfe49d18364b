import type {
  MessageAck,
  MessageKey,
  WhatsAppEvents,
  WhatsAppSocket,
} from "../../src/channel/whatsapp.ts";

/*
 * No local server exists for WhatsApp's protocol, so the tests replace the client with a socket that has the real
 * client's events and methods. The server's clock advances by a second for each message.
 */
export type WhatsAppMessage = {
  key: MessageKey;
  message: Record<string, unknown>;
  messageTimestamp: number;
};
type Sent = { id: string; chat: string; text: string; edits: string[] };

/** Returns a client with scripted connections, messages and failures. */
export function whatsAppClient() {
  const sent: Sent[] = [];
  const folders: string[] = [];
  const typing: string[] = [];
  const refused: string[] = [];
  const sockets: ReturnType<typeof socketOf>[] = [];
  const silence = { acks: false };
  let nextId = 1;
  let now = 1_700_000_000;

  function socketOf() {
    const receipts: ((ack: MessageAck) => void)[] = [];
    const listeners: { [E in keyof WhatsAppEvents]: ((update: WhatsAppEvents[E]) => void)[] } = {
      "connection.update": [],
      "messages.upsert": [],
    };
    const emit = <E extends keyof WhatsAppEvents>(event: E, update: WhatsAppEvents[E]) => {
      for (const listener of listeners[event]) listener(update);
    };
    const socket: WhatsAppSocket = {
      user: { id: "491234567:2@s.whatsapp.net", lid: "55:2@lid" },
      ws: { on: (_, listener) => receipts.push(listener) },
      ev: { on: (event, listener) => void listeners[event].push(listener) },
      sendMessage(jid, { edit, text }) {
        const why = refused.shift();
        if (why !== undefined) return Promise.reject(new Error(why));
        const before = sent.find(({ id }) => id === edit?.id);
        if (before) {
          before.edits.push(before.text);
          before.text = text;
          return Promise.resolve({ key: { id: before.id } });
        }
        const message = { id: `W${nextId++}`, chat: jid, text, edits: [] };
        sent.push(message);
        const t = String((now += 1));
        const ack = { attrs: { id: message.id, t } };
        if (!silence.acks) for (const listener of receipts) queueMicrotask(() => listener(ack));
        return Promise.resolve({ key: { id: message.id, remoteJid: jid, fromMe: true } });
      },
      sendPresenceUpdate: (_, jid) => Promise.resolve(void typing.push(jid)),
      requestPairingCode: (phone) => Promise.resolve(`CODE-${phone.slice(-4)}`),
      end: () => emit("connection.update", { connection: "close" }),
    };
    const acknowledge = (ack: unknown): void => {
      for (const listener of receipts) listener(ack as MessageAck);
    };
    return { socket, emit, acknowledge };
  }

  return {
    ...{ sent, folders, typing, refused, silence },
    openings: () => sockets.length,
    emit: <E extends keyof WhatsAppEvents>(event: E, update: WhatsAppEvents[E]) =>
      sockets.at(-1)?.emit(event, update),
    acknowledge: (ack: unknown) => sockets.at(-1)?.acknowledge(ack),
    openSocket: (folder: string): Promise<WhatsAppSocket> => {
      folders.push(folder);
      const made = socketOf();
      sockets.push(made);
      const open = () => made.emit("connection.update", { connection: "open" });
      queueMicrotask(() => queueMicrotask(open));
      return Promise.resolve(made.socket);
    },
    /** Writes as a user: at the server's time or a given time, and optionally in reply to a message. */
    write(
      chat: string,
      text: string | null,
      more: Partial<WhatsAppMessage["key"]> = {},
      { at = (now += 1), replyTo }: { at?: number; replyTo?: string } = {},
    ) {
      const key = { remoteJid: chat, fromMe: false, id: `IN${nextId++}`, ...more };
      const quoting = { extendedTextMessage: { text, contextInfo: { stanzaId: replyTo ?? null } } };
      const plain = text === null ? {} : { conversation: text };
      const message = replyTo === undefined ? plain : quoting;
      const received: WhatsAppMessage = { key, message, messageTimestamp: at };
      sockets.at(-1)?.emit("messages.upsert", { type: "notify", messages: [received] });
      return received;
    },
  };
}
