"""outpace without a server: what it says when it is used wrongly."""

import os
import threading
import unittest
from unittest import mock

import outpace
from outpace import _library
from outpace._waiting import Waiting


class Environment(unittest.TestCase):
    def test_says_the_role(self):
        for variables, found in (({}, outpace.Role.ALONE),
                                 ({"OUTPACE_SERVER": "unix:s"}, outpace.Role.WORKER),
                                 ({"OUTPACE_ROLE": "evaluator"}, outpace.Role.EVALUATOR)):
            with mock.patch.dict(os.environ, variables, clear=True):
                self.assertIs(outpace.role(), found)

    def test_a_wrong_variable_is_named(self):
        with mock.patch.dict(os.environ, {"OUTPACE_ROLE": "boss"}, clear=True):
            with self.assertRaisesRegex(outpace.OutpaceError, "OUTPACE_ROLE is 'boss'") as raised:
                outpace.role()
        self.assertEqual(raised.exception.exit_code, 2)
        with mock.patch.dict(os.environ, {"OUTPACE_SERVER": "unix:s"}, clear=True):
            with self.assertRaisesRegex(outpace.OutpaceError, "OUTPACE_TOKEN_FILE is not set"):
                outpace.Worker()


class Worker(unittest.TestCase):
    def setUp(self):
        self.worker = outpace.Worker("unix:/nowhere", token="t", worker=3, deadline=0.1)
        self.addCleanup(self.worker.close)

    def test_knows_its_rank(self):
        self.assertEqual(self.worker.rank, 3)

    def test_refuses_calls_out_of_order(self):
        for call, said in ((self.worker.next, "join"),
                           (lambda: self.worker.push(0.0), "there is no mini-batch"),
                           (lambda: self.worker.push_and_next(0.0), "there is no mini-batch"),
                           (self.worker.gradient_address, "no mini-batch"),
                           (lambda: self.worker.set_rates(0, [0.1]), "join"),
                           (lambda: self.worker.join({"a": (1,)}, [0.0], examples=0), "empty"),
                           (lambda: self.worker.join({}, [], examples=1), "no parameters")):
            with self.subTest(said), self.assertRaisesRegex(outpace.OutpaceError, said):
                call()
        self.assertFalse(self.worker.cancelled)

    def test_says_that_there_is_no_server(self):
        with self.assertRaisesRegex(outpace.OutpaceError, "/nowhere") as raised:
            self.worker.join({"a": (1,)}, [0.0], examples=1)
        self.assertEqual(raised.exception.exit_code, 1)

    def test_is_closed_once(self):
        self.worker.close()
        self.worker.close()
        self.worker.leave()
        with self.assertRaisesRegex(outpace.OutpaceError, "closed"):
            self.worker.next()


class Library(unittest.TestCase):
    def test_lists_parameters(self):
        listed = _library.parameter_list({"a": (2, 3), "b": ()}, {"b": 1})
        self.assertEqual([one.name for one in listed], [b"a", b"b"])
        self.assertEqual(listed[0].shape[: listed[0].dimensions], [2, 3])
        self.assertEqual((listed[1].dimensions, listed[1].group), (0, 1))

    def test_a_file_that_is_no_library_is_named(self):
        with mock.patch.dict(os.environ, {"LIBOUTPACE": "/no/such.so"}):
            with self.assertRaisesRegex(outpace.OutpaceError, "/no/such.so does not load"):
                _library._load()


class Waits(unittest.TestCase):
    def test_in_another_thread(self):
        waiting = Waiting()
        self.assertIsNot(waiting.call(threading.current_thread), threading.main_thread())
        self.assertEqual(waiting.call(lambda a, b: a + b, 2, 3), 5)
        waiting.end()

    def test_an_interrupt_leaves_the_call_behind(self):
        waiting, go_on = Waiting(), threading.Event()
        waiting.call(lambda: None)
        with mock.patch.object(waiting, "_answered") as answered:
            answered.acquire.side_effect = KeyboardInterrupt
            with self.assertRaises(KeyboardInterrupt):
                waiting.call(go_on.wait)
        self.assertTrue(waiting.interrupted)
        go_on.set()


if __name__ == "__main__":
    unittest.main()
