import { type Button, type NewMessage, readButton } from "./channel.ts";
import { type Fields, fieldsOf, isObject, listOf, momentOf, textOf, wholeOf } from "./fields.ts";

/** The bot's account, from `getMe`. */
export type BotAccount = {
  id: number | undefined;
  username: string | undefined;
  /** Whether the bot receives every message of a group, not only messages to it. */
  seesAll: boolean;
};

/** The content of an update. The press of a button has an id, which acknowledges it. */
export type Incoming =
  | { kind: "message"; jid: string; message: NewMessage }
  | { kind: "press"; pressId: string; jid: string; message: NewMessage | null }
  | { kind: "moved"; from: string; to: string };

export const botAccount = (me: unknown): BotAccount => {
  const { can_read_all_group_messages: seesAll, id, username } = fieldsOf(me);
  return { id: wholeOf(id), username: textOf(username), seesAll: seesAll === true };
};

/** Returns the jid of a chat, or of a topic in a chat. */
export const jidOf = (chat: number, topic?: number): string =>
  topic === undefined ? String(chat) : `${chat}:${topic}`;

export const jidPattern = /^(-?\d+)(?::(\d+))?$/;

/** Parses an update; null if it is not for the bot or is incomplete. */
export function readUpdate(update: unknown, bot: BotAccount): Incoming | null {
  const { callback_query, edited_message, message, update_id } = fieldsOf(update);
  const id = `update ${wholeOf(update_id) ?? "?"}`;
  if (isObject(callback_query)) return pressOf(callback_query, id);
  if (isObject(edited_message)) return editOf(edited_message, bot);
  return isObject(message) ? (moveOf(message) ?? messageOf(message, bot, id)) : null;
}

/** Returns the id of the message in the answer to a request; empty if missing. */
export const messageIdIn = (answer: unknown): string =>
  String(wholeOf(fieldsOf(answer).message_id) ?? "");

function pressOf({ data, from, id, message }: Fields, updateId: string): Incoming | null {
  const pressId = textOf(id);
  if (pressId === undefined) return null;
  const place = placeOf(fieldsOf(message));
  const sender = wholeOf(fieldsOf(from).id);
  const button: Button | null = readButton(textOf(data) ?? "");
  const isComplete = place !== null && sender !== undefined && button !== null;
  const pressed = isComplete
    ? { text: "", sender: String(sender), metadata: { id: updateId, button } }
    : null;
  return { kind: "press", pressId, jid: place?.jid ?? "", message: pressed };
}

/**
 * Returns the migration of a group to a supergroup. Either of Telegram's two messages about it is sufficient.
 */
function moveOf({ chat, migrate_from_chat_id, migrate_to_chat_id }: Fields): Incoming | null {
  const here = wholeOf(fieldsOf(chat).id);
  const from = wholeOf(migrate_from_chat_id) ?? here;
  const to = wholeOf(migrate_to_chat_id) ?? here;
  if (from === undefined || to === undefined || from === to) return null;
  return { kind: "moved", from: String(from), to: String(to) };
}

function messageOf(message: Fields, bot: BotAccount, updateId: string): Incoming | null {
  const place = placeOf(message);
  const sender = wholeOf(fieldsOf(message.from).id);
  if (place === null || sender === undefined) return null;
  const text = textOf(message.text);
  const content = text ? undefined : contentOf(message);
  const meant = meantFor(bot, message, text ?? textOf(message.caption) ?? "", place);
  if (meant === null || (!text && content === undefined)) return null;
  const album = textOf(message.media_group_id);
  const order = wholeOf(message.message_id);
  const timestamp = momentOf(wholeOf(message.date));
  const replyTo = repliedTo(message, place.topic);
  return {
    kind: "message",
    jid: place.jid,
    message: {
      ...{ text: text ? meant.text : "", sender: String(sender) },
      ...(timestamp !== undefined && { timestamp }),
      ...(replyTo !== undefined && { replyTo }),
      metadata: {
        id: content !== undefined && album ? `album ${album}` : updateId,
        ...(order !== undefined && order > 0 && { order }),
        ...(content !== undefined && { unread: content }),
        ...(meant.isUnnamed && { isUnnamed: true }),
      },
    },
  };
}

function editOf(message: Fields, bot: BotAccount): Incoming | null {
  const place = placeOf(message);
  const sender = wholeOf(fieldsOf(message.from).id);
  const text = textOf(message.text) ?? textOf(message.caption);
  const id = wholeOf(message.message_id);
  if (!place || sender === undefined || !text || id === undefined) return null;
  if (meantFor(bot, message, text, place) === null) return null;
  const metadata = { id: `edit ${id}`, unread: "edit" };
  return {
    kind: "message",
    jid: place.jid,
    message: { text: "", sender: String(sender), metadata },
  };
}

/**
 * The chat of a message, with its topic. A reply outside of topics, for example in a forum's General, also has a thread
 * id, which does not name a topic.
 */
type Place = { jid: string; topic?: number; isGroup: boolean };

function placeOf(message: Fields): Place | null {
  const { id, type } = fieldsOf(message.chat);
  const chat = wholeOf(id);
  if (chat === undefined || chat === 0) return null;
  const isTopic = message.is_topic_message === true;
  const topic = isTopic ? wholeOf(message.message_thread_id) : undefined;
  const isGroup = chat < 0 || type === "group" || type === "supergroup";
  if (topic === undefined || topic <= 0) return { jid: jidOf(chat), isGroup };
  return { jid: jidOf(chat, topic), topic, isGroup };
}

/**
 * Returns the id of the message that a message replies to. In a topic every message refers to the topic's first
 * message.
 */
function repliedTo(message: Fields, topic: number | undefined): string | undefined {
  if (isObject(message.external_reply) || isObject(message.reply_to_story)) return "elsewhere";
  if (!isObject(message.reply_to_message)) return undefined;
  const id = wholeOf(message.reply_to_message.message_id);
  if (id === undefined) return "elsewhere";
  return id === topic ? undefined : String(id);
}

const contents: Readonly<Record<string, string>> = {
  photo: "picture",
  voice: "voice message",
  audio: "recording",
  video: "video",
  video_note: "video message",
  animation: "animation",
  document: "file",
  sticker: "sticker",
  location: "location",
  venue: "place",
  contact: "contact",
  poll: "poll",
  dice: "dice",
  game: "game",
  story: "story",
  checklist: "list",
  paid_media: "paid content",
  caption: "caption",
};

/** Returns the kind of a message that is not a text written by a person. */
function contentOf(message: Fields): string | undefined {
  const key = Object.keys(contents).find(
    (one) => message[one] !== undefined && message[one] !== null,
  );
  return key === undefined ? undefined : contents[key];
}

/**
 * The text for the bot, without the bot's name. In a group these are messages that name the bot or reply to it, and
 * bare commands.
 */
type Meant = { text: string; isUnnamed: boolean };

function meantFor(
  bot: BotAccount,
  message: Fields,
  text: string,
  { isGroup, topic }: Place,
): Meant | null {
  const { isNamed, text: own } = withoutName(text, bot, listOf(message.entities));
  if (!isGroup) return { text: own, isUnnamed: false };
  const command = /^\s*[/!]\w[\w-]*(@\w+)?/.exec(own);
  if (command?.[1] !== undefined) return null;
  if (isNamed || isReplyTo(bot, message, topic)) return { text: own, isUnnamed: false };
  // A bot that does not receive every message gets a bare command if it was the last bot to write.
  return command && !bot.seesAll ? { text: own, isUnnamed: true } : null;
}

/** Removes the bot's name from a command, and from the beginning or the end of a text. */
function withoutName(
  text: string,
  { id, username }: BotAccount,
  entities: readonly unknown[],
): { text: string; isNamed: boolean } {
  const isMentioned = entities.some(
    (one) => id !== undefined && wholeOf(fieldsOf(fieldsOf(one).user).id) === id,
  );
  if (!username || !/^\w+$/.test(username)) return { text, isNamed: isMentioned };
  const name = `@${username}(?!\\w)`;
  if (!new RegExp(`(?<![\\w@])${name}|^\\s*[/!][\\w-]+${name}`, "i").test(text))
    return { text, isNamed: isMentioned };
  const bare = text
    .replace(new RegExp(`^(\\s*[/!][\\w-]+)${name}`, "i"), "$1")
    .replace(new RegExp(`^\\s*${name}[\\s,:]*`, "i"), "")
    .replace(new RegExp(`\\s+${name}\\s*$`, "i"), "");
  return { text: bare, isNamed: true };
}

function isReplyTo({ id }: BotAccount, message: Fields, topic: number | undefined): boolean {
  const replyTo = repliedTo(message, topic);
  const author = fieldsOf(fieldsOf(message.reply_to_message).from);
  const isOwn = id !== undefined && wholeOf(author.id) === id;
  return isOwn && replyTo !== undefined && replyTo !== "elsewhere";
}
