// Plays a list of strokes on a canvas. `strokes.rs` writes the list and says what stands in it:
// a number for the stroke, then its numbers; its words come one after the other.

const FILL = 0;
const PEN = 1;
const WIDTH = 2;
const DASH = 3;
const FONT = 4;
const ALIGN = 5;
const ALPHA = 6;
const FILL_RECTANGLE = 7;
const OUTLINE_RECTANGLE = 8;
const PATH = 9;
const SEGMENTS = 10;
const ROUNDED = 11;
const CLOSE = 12;
const FILL_PATH = 13;
const OUTLINE_PATH = 14;
const TEXT = 15;
const JOIN = 16;

export function play(context, list, text) {
  const words = text.split('\n');
  let word = 0;
  let at = 0;
  while (at < list.length) {
    switch (list[at++]) {
      case FILL:
        context.fillStyle = words[word++];
        break;
      case PEN:
        context.strokeStyle = words[word++];
        break;
      case WIDTH:
        context.lineWidth = list[at++];
        break;
      case DASH: {
        const dash = words[word++];
        context.setLineDash(dash ? dash.split(' ').map(Number) : []);
        break;
      }
      case FONT:
        context.font = words[word++];
        break;
      case ALIGN:
        context.textAlign = words[word++];
        break;
      case ALPHA:
        context.globalAlpha = list[at++];
        break;
      case FILL_RECTANGLE:
        context.fillRect(list[at], list[at + 1], list[at + 2], list[at + 3]);
        at += 4;
        break;
      case OUTLINE_RECTANGLE:
        context.strokeRect(list[at], list[at + 1], list[at + 2], list[at + 3]);
        at += 4;
        break;
      case PATH: {
        const points = list[at++];
        context.beginPath();
        for (let i = 0; i < points; i++, at += 2) {
          if (i === 0) context.moveTo(list[at], list[at + 1]);
          else context.lineTo(list[at], list[at + 1]);
        }
        break;
      }
      case SEGMENTS: {
        const segments = list[at++];
        context.beginPath();
        for (let i = 0; i < segments; i++, at += 4) {
          context.moveTo(list[at], list[at + 1]);
          context.lineTo(list[at + 2], list[at + 3]);
        }
        break;
      }
      case ROUNDED:
        context.beginPath();
        context.roundRect(list[at], list[at + 1], list[at + 2], list[at + 3], list[at + 4]);
        at += 5;
        break;
      case CLOSE:
        context.closePath();
        break;
      case FILL_PATH:
        context.fill();
        break;
      case OUTLINE_PATH:
        context.stroke();
        break;
      case TEXT:
        context.fillText(words[word++], list[at], list[at + 1]);
        at += 2;
        break;
      case JOIN:
        context.lineJoin = words[word++];
        break;
      default:
        throw new Error(`no stroke ${list[at - 1]}`);
    }
  }
}
