"""Opens a timeline in Perfetto's trace processor; without its binary reads it by Perfetto's published schema.

Prints TRACE PROCESSOR or SCHEMA, then the slices as lines `track start duration name`."""
import sys

def by_trace_processor(path):
    from perfetto.trace_processor import TraceProcessor
    with TraceProcessor(trace=path) as tp:
        bad = [row.name for row in tp.query("select name from stats where severity = 'error' and value > 0")]
        assert not bad, bad
        sql = "select t.name as track, s.ts as ts, s.dur as dur, s.name as name from slice s join track t on t.id = s.track_id"
        return [(row.track, row.ts, row.dur, row.name) for row in tp.query(sql)]

def by_schema(path):
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as schema
    trace, names, tracks, begun, slices = schema.Trace(), {}, {}, {}, []
    trace.ParseFromString(open(path, "rb").read())
    for packet in trace.packet:
        names.update((entry.iid, entry.name) for entry in packet.interned_data.event_names)
        if packet.HasField("track_descriptor"):
            about = packet.track_descriptor
            assert about.parent_uuid == 0 or about.parent_uuid in tracks
            tracks[about.uuid] = about.name
        elif packet.HasField("track_event"):
            event = packet.track_event
            stack = begun.setdefault(event.track_uuid, [])
            if event.type == event.TYPE_SLICE_BEGIN:
                stack.append((packet.timestamp, names[event.name_iid]))
            elif event.type == event.TYPE_SLICE_END:
                start, name = stack.pop()
                slices.append((tracks[event.track_uuid], start, packet.timestamp - start, name))
    assert not any(begun.values()), "a slice has no end"
    return slices

try:
    how, found = "TRACE PROCESSOR", by_trace_processor(sys.argv[1])
except Exception as why:  # No binary for this machine, no network to fetch it from.
    print(f"no trace processor: {why}", file=sys.stderr)
    how, found = "SCHEMA", by_schema(sys.argv[1])
print(how)
for track, start, duration, name in sorted(found):
    print(f"{track}\t{start}\t{duration}\t{name}")
