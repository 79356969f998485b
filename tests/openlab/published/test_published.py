"""The published figures: complete, as printed, and read into the right numbers."""

import hashlib
import json
import shutil

import pandas as pd
import pytest

from netlab.errors import BadInput
from netlab.files.paths import data_dir
from netlab.openlab import published

# Stored here too, so that a file and its description cannot change together unnoticed.
SHA256_OF_RAW = {
    "gigabit-settings": "9de5793215990ce30bae62e447e5a4bf97ccadef2556e35163faebde7d443eac",
    "gigabit-tuning": "7ecffb18a78c8829ca298fc4054fc8d43059855ea7dc6f2bad90cc1a112c47e9",
    "openlab-2003": "e5de6222fa08c354827e533e25fc7c169561ace587859b6ad5bae3a424ed2dfd",
    "openlab-2003-preliminary": "f55bf4f7d44be1b5837c8011b7cab3a351a068095959c4704863b640dabcba20",
    "slac-2003": "9aa54865dae754c6175f85459c6b1b2c2e14f9087c362855360132cbea3fb287",
    "slac-2003-path": "699404d04520626d37fba33b1a038fe0da2a8924ad0ef837be6112f69b763b4a",
    "slac-2003-rapid": "978b5e8cfd007e560a14a8358df4111875532025438905519b0af133ad9e686b",
    "slac-2003-settings": "a2d410f4364cdf017f75543e82ba666a8c9714553b3192d2f7c64a08a26c7c94",
    "slac-2003-wad": "1cd485b2058f05d605622aadd843adb2abfbd845b5c684b65a4a7698c15b5d4d",
}


def test_names_lists_every_data_set():
    assert published.names() == sorted(SHA256_OF_RAW)


@pytest.mark.parametrize("name", published.names())
def test_a_description_fits_its_file_and_frame(name):
    about = published.describe(name)
    raw, tidy = published.read_raw(name), published.load(name)
    assert list(raw.columns) == [column["name"] for column in about["columns"]]
    assert list(tidy.columns) == [column["name"] for column in about["tidy_columns"]]
    assert len(raw) == about["raw_rows"] == len(tidy)
    assert about["sources"] and all(one["title"] and one["sections"] for one in about["sources"])
    assert hashlib.sha256(about["file"].read_bytes()).hexdigest() == SHA256_OF_RAW[name]


def test_a_changed_file_another_name_and_a_directory_without_data_are_refused(
    tmp_path, monkeypatch
):
    shutil.copytree(data_dir() / "published", tmp_path / "published")
    monkeypatch.setenv("NETLAB_DATA", str(tmp_path))
    file = tmp_path / "published" / "openlab-2003.csv"
    file.write_text(file.read_text().replace("774", "775"))
    with pytest.raises(BadInput, match="published values are never edited"):
        published.load("openlab-2003")
    with pytest.raises(BadInput, match="no such published data set"):
        published.load("openlab-2004")
    shutil.rmtree(tmp_path / "published")
    with pytest.raises(BadInput, match="has no published/ directory"):
        published.names()


class TestReport:
    frame = published.load("openlab-2003")

    def test_every_cell_of_tables_1_to_6_is_there_once(self):
        levels = ["table", "tuning", "mtu_B", "streams"]
        rows = [(tuning, mtu_B) for tuning in ("none", "kernel", "full") for mtu_B in (1500, 9000)]
        assert self.frame[levels].to_numpy().tolist() == [
            [table, *row, streams]
            for table in range(1, 7)
            for row in (*rows, ("full", 16114))
            for streams in (1, 4, 12, 20)[: 3 if table == 1 else 4]
        ]
        assert not self.frame.isna().any(axis=None)

    @pytest.mark.parametrize(
        "table, printed",
        [
            (1, "127 375 523 173 364 698 203 415 497 329 604 662 "
                "275 331 295 693 685 643 755 749 698"),
            (2, "170 388 460 398 182 355 632 694 325 497 470 440 352 585 672 668 "
                "366 429 408 421 686 684 666 658 744 742 733 717"),
            (3, "199 408 491 493 298 467 540 557 368 563 512 486 460 544 745 761 "
                "457 594 535 516 699 739 719 712 774 770 751 745"),
            (4, "110 157 176 172 131 178 233 262 152 211 204 198 201 236 262 261 "
                "160 184 182 181 223 244 252 252 236 283 278 277"),
            (5, "133 298 313 312 166 384 416 415 153 295 297 296 254 407 415 413 "
                "242 242 248 249 409 418 416 412 435 438 444 444"),
            (6, "168 224 220 218 214 290 346 378 192 273 245 245 262 314 353 323 "
                "179 205 203 203 343 363 375 373 408 415 378 377"),
        ],
    )  # fmt: skip
    def test_the_cells_are_those_printed_row_by_row(self, table, printed):
        cells = self.frame.loc[self.frame["table"] == table, "throughput_MBps"]
        assert list(cells) == [float(cell) for cell in printed.split()]

    def test_hosts_and_directions_are_those_of_the_headings(self):
        seen = self.frame.groupby("table")[["sender", "direction", "receiver"]].first()
        assert [" ".join(row) for row in seen.itertuples(index=False)] == [
            *("Linux64 -> Linux64", "Linux64 -> Linux64", "Linux64 <-> Linux64"),
            *("Linux32 -> Linux64", "Linux64 -> Linux32", "Linux32 <-> Linux64"),
        ]

    def test_the_bus_is_that_of_the_slower_host(self):
        bus = self.frame.groupby("table")["bus_MBps"].unique().map(list).to_dict()
        assert bus == {1: [1064], 2: [1064], 3: [1064], 4: [800], 5: [800], 6: [800]}
        best = self.frame.loc[self.frame["throughput_MBps"].idxmax()]
        assert best["percent_of_bus"] == pytest.approx(100 * 774 / 1064)


class TestPreliminary:
    frame = published.load("openlab-2003-preliminary")

    def test_it_has_every_cell_of_sets_1_to_3_with_a_total_of_several_streams(self):
        of_rows = self.frame.groupby(["tuning", "mtu_B"])["streams"]
        assert of_rows.apply(list).map(str).tolist() == ["[1, 4, 8, 12]"] * 9
        single = self.frame["streams"] == 1
        assert (self.frame["stated_total_MBps"].isna() == single).all()
        assert (self.frame["throughput_MBps"] > 0).all()

    def test_the_misprint_stays_as_printed_and_raw_cells_keep_their_blanks(self):
        cell = self.frame.query("tuning == 'kernel' and mtu_B == 16114 and streams == 4")
        assert cell.iloc[0, 3:].tolist() == [179, 614, 614]
        cells = published.read_raw("openlab-2003-preliminary")["cell"]
        assert cells[1:3].tolist() == ["4x94MB/s(tot:375)", "8x65MB/s (tot:523)"]


class TestWideArea:
    frame = published.load("slac-2003")

    def test_the_configurations_are_complete(self):
        assert len(self.frame) == 26
        assert self.frame["stack"].value_counts().to_dict() == {
            "HighSpeed": 12, "FAST": 2, "Reno": 2, "Scalable": 2,
        }  # fmt: skip
        assert set(self.frame["sender_window_B"].dropna()) == {32 << 20, 40 << 20}
        assert set(self.frame["receiver_window_B"].dropna()) == {32 << 20, 128 << 20}
        assert set(self.frame["txqueuelen"].dropna()) == {100, 3000, 10000}
        assert set(self.frame["wad_sndbuf_B"].dropna()) == {41943040, 134217728}

        assert set(self.frame["rtt_ms"]) == {183.022}
        assert set(self.frame["rtt_near_ms"]) == {64.879}
        assert set(self.frame["bottleneck_Mbps"]) == {2500.0}

    def test_ping_and_traceroute_are_complete(self):
        path = published.load("slac-2003-path")
        counts = path.groupby(["from_site", "tool"]).size().to_dict()
        pings, hops = {("GVA", "ping"): 9, ("SNV", "ping"): 8}, ("GVA", "traceroute")
        assert counts == pings | {hops: 15, ("SNV", "traceroute"): 12}
        assert path["rtt_ms"].between(0.1, 184).all()

    def test_wad_conf_and_the_transfer_are_as_given(self):
        wad = published.load("slac-2003-wad").set_index("key")["value"]
        assert len(wad) == 13
        assert (wad["sndbuf"], wad["wadmd"], wad["floyd"]) == ("41943040", ".3", "1")
        rapid = published.load("slac-2003-rapid").set_index("quantity")["value"]
        assert rapid["amount"] == rapid["records"] * rapid["record_length"] == 16388608000
        assert rapid["throughput"] == 2185.476


def test_before_and_after_of_gigabit_hosts_are_numbers_and_settings_cover_four_systems():
    frame = published.load("gigabit-tuning").set_index(["document", "phase"])
    rates = frame["rate_Mbps"].unstack()[["before", "after"]]
    assert rates.loc["solaris-linux"].tolist() == [390, 955]
    assert rates.loc["gigabit-nic"].tolist() == [230, 895]
    iperf = frame.loc[("solaris-linux", "after")]
    assert (iperf["transferred_B"], iperf["sender_window_B"]) == (900 * 2**20, 192 * 1024)
    assert pd.isna(frame.loc[("gigabit-nic", "before"), "mtu_B"])
    systems = published.load("gigabit-settings")["system"].value_counts().to_dict()
    assert systems == {"Linux": 9, "FreeBSD": 5, "Windows": 4, "Solaris": 3}


def test_a_data_set_of_ones_own_is_read_without_code(tmp_path, monkeypatch):
    shutil.copytree(data_dir(), tmp_path / "data")
    where = tmp_path / "data" / "published"
    (where / "mine.csv").write_text("mtu_B,host,goodput_MBps\n1500,a,12.5\n9000,b,\n")
    described = json.loads((where / "slac-2003-rapid.json").read_text())
    names = ("mtu_B", "host", "goodput_MBps")
    columns = [{"name": name, "unit": "", "description": name} for name in names]
    digest = hashlib.sha256((where / "mine.csv").read_bytes()).hexdigest()
    described |= {"name": "mine", "file": "mine.csv", "raw_rows": 2, "sha256": digest}
    described |= {"columns": columns, "tidy_columns": columns}
    (where / "mine.json").write_text(json.dumps(described))
    monkeypatch.setenv("NETLAB_DATA", str(tmp_path / "data"))
    assert "mine" in published.names()
    frame = published.load("mine")
    assert frame["mtu_B"].tolist() == [1500, 9000] and frame["host"].tolist() == ["a", "b"]
    assert frame["goodput_MBps"].iloc[0] == 12.5 and frame["goodput_MBps"].isna().iloc[1]
