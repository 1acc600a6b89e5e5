// Time that passes when it is told to, and chance that can be played again.

export class Chance {
  private state: number;

  constructor(seed: number) {
    this.state = seed >>> 0;
  }

  /** Mulberry32: from 0 to 1. */
  next(): number {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let value = this.state;
    value = Math.imul(value ^ (value >>> 15), value | 1);
    value ^= value + Math.imul(value ^ (value >>> 7), value | 61);
    return ((value ^ (value >>> 14)) >>> 0) / 4_294_967_296;
  }

  below(limit: number): number {
    return Math.floor(this.next() * limit);
  }

  is(share: number): boolean {
    return this.next() < share;
  }

  of<T>(all: readonly T[]): T {
    return all[this.below(all.length)];
  }

  weighted<T>(all: readonly (readonly [T, number])[]): T {
    let at = this.next() * all.reduce((sum, [, weight]) => sum + weight, 0);
    for (const [each, weight] of all) if ((at -= weight) < 0) return each;
    return all[all.length - 1][0];
  }
}

interface Due {
  at: number;
  order: number;
  run: () => unknown;
}

export class Clock {
  now = 0;
  private due: Due[] = [];
  private order = 0;
  private readonly held = new Set<Promise<unknown>>();

  later(run: () => unknown, after: number): number {
    this.order += 1;
    this.due.push({ at: this.now + after, order: this.order, run });
    return this.order;
  }

  cancel(order: number): void {
    this.due = this.due.filter((each) => each.order !== order);
  }

  /** No time passes while that is under way, such as a call to a real server. */
  hold(work: Promise<unknown>): void {
    this.held.add(work);
    void work.finally(() => this.held.delete(work));
  }

  private async turn(): Promise<void> {
    await turn();
    while (this.held.size) {
      await Promise.all(this.held);
      await turn();
    }
  }

  async pass(span: number): Promise<void> {
    const end = this.now + span;
    await this.turn();
    for (;;) {
      let next: Due | undefined;
      for (const each of this.due) {
        if (each.at <= end && (!next || each.at < next.at || (each.at === next.at && each.order < next.order))) next = each;
      }
      if (!next) break;
      this.due.splice(this.due.indexOf(next), 1);
      this.now = next.at;
      await next.run();
      await this.turn();
    }
    this.now = end;
  }
}

/** What waits for answers that are there goes on. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
