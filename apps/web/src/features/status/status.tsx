import type { Status } from "@uncaged/workflow-server/api-types";
import {
  Ban,
  CircleCheck,
  CircleDashed,
  CirclePause,
  CircleX,
  FileWarning,
  LoaderCircle,
  type LucideIcon,
  MessageCircleQuestion,
} from "lucide-react";
import styles from "./status.module.css";

const icons: Record<Status, LucideIcon> = {
  running: LoaderCircle,
  waiting: MessageCircleQuestion,
  paused: CirclePause,
  completed: CircleCheck,
  failed: CircleX,
  killed: Ban,
  interrupted: CircleDashed,
  corrupt: FileWarning,
};

export function StatusBadge({ status, large = false }: { status: Status; large?: boolean }) {
  const Icon = icons[status];
  return (
    <span className={`${styles.badge} ${styles[status]} ${large ? styles.large : ""}`}>
      <Icon aria-hidden />
      {status}
    </span>
  );
}

export function StatusIcon({ status }: { status: Status }) {
  const Icon = icons[status];
  return <Icon aria-hidden className={`${styles.icon} ${styles[status]}`} />;
}
